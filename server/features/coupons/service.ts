import { ApiError, type FieldError, invalidField, notFound, validationError } from '../../errors.ts';
import type { Page } from '../../http/lists.ts';
import type { PageRequest } from '../../http/route.ts';
import { limits } from '../../limits.ts';
import { isUnchanged } from '../../platform/changed-fields.ts';
import { type Database, violatedConstraint } from '../../platform/database.ts';
import { newId } from '../../platform/ids.ts';
import { codeKeyOf, randomCodes } from './codes.ts';
import { codeToWire, perHundredth, toWire } from './coupon.ts';
import {
  type CodeRow,
  type CouponFilters,
  type CouponRow,
  countCodes,
  findCoupon,
  findMissing,
  insertCodes,
  insertCoupon,
  listCodes,
  listCoupons,
  lockCoupon,
  renameCode,
  updateCoupon,
} from './queries.ts';
import type { CodeBatch, Coupon, CouponCode, CouponCreate, CouponUpdate, CouponWithCodes } from './schemas.ts';
import type { RequestContext } from '../../request-context.ts';

export { coversCycle, discountOf } from './discount.ts';
export { codeKeyOf } from './codes.ts';
export type { RedemptionOutcome } from './redemption-queries.ts';
export {
  admitRedemptions,
  type CouponUse,
  closeRedemptions,
  CouponRefused,
  couponFor,
  findCouponFacts,
  reserveRedemptions,
  redemptionOf,
  RedemptionsReserved,
  reserveAgain,
  termsOf,
  waitingForReservations,
} from './redemptions.ts';

/** Whether the coupon is for this plan too. Its other rules were checked when it was redeemed. */
export async function fitsPlan(db: Database, companyId: string, couponId: string, planId: string): Promise<boolean> {
  const coupon = await findCoupon(db, companyId, couponId);
  if (!coupon) return false;
  return coupon.plan_scope === 'all' || (coupon.plan_scope === 'specific' && coupon.plan_ids.includes(planId));
}

/** Returns a new coupon with its default values. */
function blankCoupon({ company, nowMs }: RequestContext, kind: CouponRow['kind']): CouponRow {
  return {
    company_id: company.id,
    id: newId(nowMs),
    kind,
    name: '',
    description: null,
    percentage_hundredths: null,
    amount: null,
    max_discount_amount: null,
    currency: null,
    duration: 'once',
    duration_in_cycles: null,
    minimum_amount: 0,
    max_redemptions: null,
    max_redemptions_per_customer: null,
    max_redemptions_per_code: null,
    first_time_customer_only: false,
    starts_at: null,
    expires_at: null,
    active: true,
    archived_at: null,
    product_scope: 'all',
    plan_scope: 'all',
    product_ids: [],
    plan_ids: [],
    code_prefix: null,
    total_redemptions: 0,
    used: 0,
    code_count: 0,
    updated_at: new Date(nowMs),
  };
}

const sameAsColumn = [
  'name',
  'description',
  'amount',
  'max_discount_amount',
  'duration',
  'duration_in_cycles',
  'minimum_amount',
  'max_redemptions',
  'max_redemptions_per_customer',
  'max_redemptions_per_code',
  'first_time_customer_only',
  'active',
  'product_scope',
  'plan_scope',
  'code_prefix',
] as const;

function merged(row: CouponRow, input: CouponUpdate, nowMs: number): CouponRow {
  const given = Object.fromEntries(
    sameAsColumn.filter((field) => input[field] !== undefined).map((field) => [field, input[field]]),
  ) as Partial<CouponRow>;
  const to: CouponRow = { ...row, ...given, updated_at: new Date(nowMs) };
  if (input.percentage !== undefined) to.percentage_hundredths = Math.round(input.percentage * perHundredth);
  replaceOther(to, input);
  // The currency belongs to the amount; a percentage accepts a currency as well.
  if (input.amount === null) to.currency = null;
  if (input.currency !== undefined) to.currency = input.currency;
  if (to.percentage_hundredths !== null && to.amount === null && to.currency === 'usd') to.currency = null;
  if (input.starts_at !== undefined) to.starts_at = new Date(input.starts_at);
  if (input.expires_at !== undefined) to.expires_at = new Date(input.expires_at);
  to.code_prefix ||= null;
  if (input.product_ids) to.product_ids = distinct(input.product_ids);
  if (input.plan_ids) to.plan_ids = distinct(input.plan_ids);
  if (to.kind === 'promo') to.name = to.name.trim();
  return to;
}

/** A coupon has one of the two, so one of them alone replaces the other with what belongs to it. */
function replaceOther(to: CouponRow, { percentage, amount, max_discount_amount }: CouponUpdate): void {
  if (percentage !== undefined && amount === undefined) {
    to.amount = null;
    to.currency = null;
  }
  if (typeof amount === 'number' && percentage === undefined) {
    to.percentage_hundredths = null;
    if (max_discount_amount === undefined) to.max_discount_amount = null;
  }
}

const distinct = (ids: readonly string[]): string[] => [...new Set(ids.map((id) => id.toLowerCase()))];

/** Checks the rules that involve several fields of a coupon. */
function problemsOf(row: CouponRow, before: CouponRow, input: CouponUpdate, nowMs: number): FieldError[] {
  const problems: FieldError[] = [];
  const refuse = (field: string, message: string, code: FieldError['code'] = 'invalid_value'): void =>
    void problems.push({ field, code, message });
  const { percentage_hundredths, amount } = row;
  if (percentage_hundredths === null && amount === null) {
    refuse('percentage', 'is required. Send either percentage or amount', 'required_field');
  }
  if (percentage_hundredths !== null && amount !== null) refuse('amount', 'must be null or omitted with a percentage');
  if (input.percentage && !isHundredths(input.percentage)) refuse('percentage', 'must have at most two decimals');
  if (amount !== null && row.max_discount_amount !== null) {
    refuse('max_discount_amount', 'is only for percentages');
  }
  if (amount !== null && row.currency === null) refuse('currency', 'is required with amount', 'required_field');
  if (amount === null && row.currency !== null) refuse('currency', 'must be omitted with a percentage');
  if (row.duration === 'repeating' && row.duration_in_cycles === null) {
    refuse('duration_in_cycles', 'is required when duration is repeating', 'required_field');
  }
  if (row.duration !== 'repeating' && row.duration_in_cycles !== null) {
    refuse('duration_in_cycles', 'must be omitted unless duration is repeating');
  }
  if (row.starts_at && row.expires_at && row.expires_at <= row.starts_at) {
    refuse('expires_at', 'must be later than starts_at');
  } else if (isNewlyPast(row.expires_at, before.expires_at, nowMs)) {
    refuse('expires_at', 'must be in the future');
  }
  if (row.max_redemptions !== null && row.max_redemptions < row.used) {
    refuse('max_redemptions', `must be at least ${row.used}, the number of redemptions so far`);
  }
  for (const what of ['product', 'plan'] as const) {
    const scope = row[`${what}_scope`];
    const ids = row[`${what}_ids`];
    if (scope === 'specific' && ids.length === 0)
      refuse(`${what}_ids`, 'must contain at least one ID when the scope is specific');
    if (scope !== 'specific' && ids.length > 0) refuse(`${what}_ids`, 'must be empty unless the scope is specific');
  }
  if (row.archived_at && row.active) refuse('active', 'must be false while the coupon is archived');
  return problems;
}

/** A date that was already in the past may be sent again unchanged. */
function isNewlyPast(moment: Date | null, before: Date | null, nowMs: number): boolean {
  return moment !== null && moment.getTime() <= nowMs && moment.getTime() !== before?.getTime();
}

function isHundredths(percentage: number): boolean {
  return Math.round(percentage * perHundredth) / perHundredth === percentage;
}

async function checkIds(db: Database, row: CouponRow, input: CouponUpdate): Promise<void> {
  for (const what of ['product', 'plan'] as const) {
    if (!input[`${what}_ids`]) continue;
    const [missing] = await findMissing(db, `${what}s`, row.company_id, row[`${what}_ids`]);
    if (missing) throw notFound(what, `${what}_ids`);
  }
}

async function refusingTaken<Result>(work: Promise<Result>, field: string): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    if (violatedConstraint(error) !== 'coupon_codes_code') throw error;
    throw codeTaken(field);
  }
}

function codeTaken(field: string): ApiError {
  return new ApiError('resource_already_exists', 'Another coupon has this code.', { param: field });
}

export async function createCoupon(context: RequestContext, input: CouponCreate): Promise<CouponWithCodes> {
  const { db, nowMs } = context;
  const { codes, kind = 'generated', ...fields } = input;
  if (kind === 'promo' && codes) throw noCodes('codes');
  const blank = blankCoupon(context, kind);
  const row = { ...merged(blank, fields, nowMs), code_count: codes?.count ?? 0 };
  const problems = problemsOf(row, blank, fields, nowMs);
  if (problems.length > 0) throw validationError(problems);
  return db.transaction(async (transaction) => {
    await checkIds(transaction, row, fields);
    const inserted = insertCoupon(transaction, row);
    const coded =
      kind === 'promo'
        ? insertCodes(transaction, row.company_id, row.id, [{ id: newId(nowMs), code: codeKeyOf(row.name) }])
        : mint(transaction, row, codes, nowMs);
    const [made] = await Promise.all([coded, inserted]);
    if (kind === 'promo' && made.length === 0) throw codeTaken('name');
    return { ...toWire(row), codes: made.map((code) => codeToWire(code, row)) };
  });
}

function noCodes(param: string): ApiError {
  const message = 'A promo coupon has only one code, its name. Create a generated coupon for random codes.';
  return new ApiError('invalid_request', message, { param, status: 422 });
}

/** So few that neither this process nor the database is busy with one statement for long. */
const codesPerStatement = 100;

/** Draws codes until there are as many as requested: a code that is taken is drawn again. */
async function mint(
  transaction: Database,
  coupon: CouponRow,
  batch: CodeBatch | undefined,
  nowMs: number,
): Promise<CodeRow[]> {
  const made: CodeRow[] = [];
  const { count = 0, prefix = coupon.code_prefix ?? '', length = limits.couponCodeLength } = batch ?? {};
  while (made.length < count) {
    const drawn = randomCodes(Math.min(count - made.length, codesPerStatement), prefix, length).map((code) => ({
      id: newId(nowMs),
      code,
    }));
    made.push(...(await insertCodes(transaction, coupon.company_id, coupon.id, drawn)));
  }
  return made.toSorted((left, right) => (left.id < right.id ? -1 : 1));
}

function checkCodes(present: number, count: number): void {
  if (present + count <= limits.couponCodes) return;
  const [most, has] = [limits.couponCodes, present].map((number) => number.toLocaleString('en'));
  throw invalidField('count', `is too high. A coupon can have at most ${most} codes, and this one has ${has}`);
}

export async function mintCodes(
  context: RequestContext,
  id: string,
  batch: CodeBatch,
): Promise<{ data: CouponCode[] }> {
  const { db, company, nowMs } = context;
  return db.transaction(async (transaction) => {
    const row = await findCoupon(transaction, company.id, id);
    if (!row) throw notFound('coupon');
    if (row.kind === 'promo') throw noCodes('id');
    checkCodes(row.code_count ?? 0, batch.count);
    const made = await mint(transaction, row, batch, nowMs);
    checkCodes((await countCodes(transaction, company.id, id, made.length)) - made.length, made.length);
    return { data: made.map((code) => codeToWire(code, row)) };
  });
}

export async function getCoupon({ db, company }: RequestContext, id: string): Promise<Coupon> {
  const row = await findCoupon(db, company.id, id);
  if (!row) throw notFound('coupon');
  return toWire(row);
}

export async function getCoupons(
  { db, company }: RequestContext,
  filters: CouponFilters,
  page: PageRequest,
): Promise<Page<Coupon>> {
  const found = await listCoupons(db, company.id, filters, page);
  return { ...found, items: found.items.map(toWire) };
}

export async function getCodes(
  { db, company }: RequestContext,
  id: string,
  page: PageRequest,
): Promise<Page<CouponCode>> {
  const row = await findCoupon(db, company.id, id);
  if (!row) throw notFound('coupon');
  const found = await listCodes(db, company.id, id, page);
  return { ...found, items: found.items.map((code) => codeToWire(code, row)) };
}

/** The terms of existing redemptions, which cannot be changed any more. */
const lockedFields = [
  'percentage',
  'amount',
  'max_discount_amount',
  'currency',
  'duration',
  'duration_in_cycles',
  'first_time_customer_only',
  'max_redemptions_per_code',
  'product_scope',
  'plan_scope',
  'plan_ids',
  'product_ids',
] as const;

function refuseLocked(row: CouponRow, to: CouponRow, input: CouponUpdate, nowMs: number): void {
  const [before, after] = [toWire(row), toWire(to)];
  // The order of ids has no meaning.
  const compared = (value: unknown): string =>
    JSON.stringify(Array.isArray(value) ? value.map(String).toSorted((one, other) => one.localeCompare(other)) : value);
  const changes = (field: keyof CouponUpdate): boolean =>
    input[field] !== undefined && compared(before[field]) !== compared(after[field]);
  const locked: (keyof CouponUpdate)[] = [];
  if (row.used > 0) locked.push(...lockedFields, ...(row.kind === 'promo' ? (['name'] as const) : []));
  if (row.starts_at && row.starts_at.getTime() <= nowMs) locked.push('starts_at');
  const touched = locked.filter(changes);
  const [first] = touched;
  if (!first) return;
  const why = first === 'starts_at' ? 'the coupon has started' : 'the coupon was redeemed';
  throw new ApiError('field_locked', `You cannot change ${touched.join(', ')}, because ${why}.`, { param: first });
}

/** Locks the coupon until the transaction ends. */
export async function lockedCoupon({ db, company }: RequestContext, id: string): Promise<Coupon | undefined> {
  const row = await lockCoupon(db, company.id, id);
  return row && toWire(row);
}

export async function changeCoupon(context: RequestContext, id: string, input: CouponUpdate): Promise<Coupon> {
  const { db, company, nowMs } = context;
  return db.transaction(async (transaction) => {
    const row = await lockCoupon(transaction, company.id, id);
    if (!row) throw notFound('coupon');
    const to = merged(row, input, nowMs);
    refuseLocked(row, to, input, nowMs);
    const problems = problemsOf(to, row, input, nowMs);
    if (problems.length > 0) throw validationError(problems);
    await checkIds(transaction, to, input);
    if (isUnchanged(toWire(row), toWire(to))) return toWire(row);
    await updateCoupon(transaction, to);
    if (to.kind === 'promo' && codeKeyOf(to.name) !== codeKeyOf(row.name)) {
      await refusingTaken(renameCode(transaction, company.id, id, codeKeyOf(to.name)), 'name');
    }
    return toWire(to);
  });
}

/** Archiving disables the coupon; restoring leaves it inactive. Both are idempotent. */
export async function archiveCoupon(context: RequestContext, id: string, archived: boolean): Promise<Coupon> {
  const { db, company, nowMs } = context;
  return db.transaction(async (transaction) => {
    const row = await lockCoupon(transaction, company.id, id);
    if (!row) throw notFound('coupon');
    if (archived === (row.archived_at !== null)) return toWire(row);
    const now = new Date(nowMs);
    const to: CouponRow = archived
      ? { ...row, archived_at: now, active: false, updated_at: now }
      : { ...row, archived_at: null, updated_at: now };
    await updateCoupon(transaction, to);
    return toWire(to);
  });
}
