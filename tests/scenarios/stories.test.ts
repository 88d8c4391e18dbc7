/** One process for all of them: most of the time of a short test file goes into its start. */
import './another-cadence.story.ts';
import './canceled-while-past-due.story.ts';
import './declined-in-march.story.ts';
import './ends-by-a-date.story.ts';
import './expired-card.story.ts';
import './first-order-retried-by-hand.story.ts';
import './monthly-from-the-31st.story.ts';
import './on-the-first-of-the-month.story.ts';
import './paused-over-two-renewals.story.ts';
import './quarterly-with-a-setup-fee.story.ts';
import './service-was-down.story.ts';
import './starts-next-month.story.ts';
import './ten-weeks.story.ts';
import './yearly-from-a-leap-day.story.ts';
