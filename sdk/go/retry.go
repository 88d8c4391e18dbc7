package svc

import (
	"context"
	"errors"
	"math"
	"math/rand"
	"time"
)

// Which calls are retried, and for how long. Every write has an idempotency key that stays the same for all attempts, and the
// service executes a key once. So it is safe to retry after a lost response.

const (
	firstDelay = 250 * time.Millisecond
	delayMax   = 5 * time.Second
	// A 500 may fail on every attempt, so it is retried only a few times.
	retriesOfInternalErrors = 3
)

// withRetries returns the last error as soon as no further attempt can start, without waiting.
func (c *Client) withRetries(ctx context.Context, request prepared, options requestOptions) (answer, error) {
	var end time.Time
	for attempt := 1; ; attempt++ {
		received, err := c.exchange(ctx, request, attempt, options)
		if err == nil {
			if received.status >= 200 && received.status <= 299 {
				return received, nil
			}
			err = errorOf(received, options.idempotencyKey)
		}
		var failed *Error
		if !errors.As(err, &failed) || attempt > retriesFor(failed, options.maxRetries) {
			return answer{}, err
		}
		now := time.Now()
		if end.IsZero() {
			end = now.Add(options.retryFor)
		}
		delay := retryDelay(attempt, failed.RetryAfter, rand.Float64)
		if now.Add(delay).After(end) {
			return answer{}, err
		}
		if deadline, has := ctx.Deadline(); has && now.Add(delay).After(deadline) {
			return answer{}, err
		}
		timer := time.NewTimer(delay)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return answer{}, ctx.Err()
		}
	}
}

func retriesFor(failed *Error, maxRetries int) int {
	allowed := 0
	switch {
	case failed.Type == "connection_error", failed.Code == "request_in_progress":
		allowed = math.MaxInt
	case failed.Status == 429, failed.Status >= 502 && failed.Status <= 504:
		allowed = math.MaxInt
	case failed.Status == 500:
		allowed = retriesOfInternalErrors
	}
	if maxRetries >= 0 && maxRetries < allowed {
		return maxRetries
	}
	return allowed
}

// retryDelay is exponential, with jitter, and never earlier than requested.
func retryDelay(attempt int, retryAfter *time.Duration, chance func() float64) time.Duration {
	backOff := math.Min(float64(delayMax), float64(firstDelay)*math.Pow(2, float64(attempt-1))) * (0.5 + chance()/2)
	if retryAfter == nil {
		return time.Duration(backOff)
	}
	return time.Duration(math.Max(float64(*retryAfter)+chance()*float64(firstDelay), backOff))
}
