package svc

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"time"
)

// FieldError is one invalid field of the request, with a path such as items[0].quantity.
type FieldError struct {
	Field   string `json:"field"`
	Code    string `json:"code"`
	Message string `json:"message"`
}

// Facts lets the types below embed an Error.
type Facts = Error

// Error is what all errors of the service have. Use errors.As with *Error, or with one of the types below.
type Error struct {
	Type string
	// Code can be one that this version does not know.
	Code    string
	Message string
	// Status is the HTTP status; 0 if there was no response.
	Status int
	// Param is the most relevant field or parameter.
	Param     string
	RequestID string
	// FieldErrors are all invalid fields.
	FieldErrors []FieldError
	RetryAfter  *time.Duration
	// IdempotencyKey of the request. Send it again to continue the same operation.
	IdempotencyKey string
	cause          error
}

func (e *Error) Error() string {
	if e.RequestID == "" {
		return fmt.Sprintf("svc: %s (%s)", e.Message, e.Code)
	}
	return fmt.Sprintf("svc: %s (%s, %s)", e.Message, e.Code, e.RequestID)
}

// Unwrap returns why there was no response.
func (e *Error) Unwrap() error { return e.cause }

// InvalidRequestError is a request that is invalid, or that the status of the object does not allow.
type InvalidRequestError struct{ *Facts }

// AuthenticationError is an API key that is missing, invalid, expired or revoked.
type AuthenticationError struct{ *Facts }

// AuthorizationError is an API key without the permission.
type AuthorizationError struct{ *Facts }

// RateLimitError is for too many requests, even after the retries.
type RateLimitError struct{ *Facts }

// IdempotencyError is an idempotency key that was used for another request, or for one that is still in progress.
type IdempotencyError struct{ *Facts }

// ProcessingError is a failure of the service or of the payment processor.
type ProcessingError struct{ *Facts }

// WebhookError is a webhook endpoint that is not allowed.
type WebhookError struct{ *Facts }

// WebhookSignatureError is a delivery that is forged or too old.
type WebhookSignatureError struct{ *WebhookError }

// ConnectionError is for no response, so the outcome is unknown. It is safe to send the same idempotency key again.
type ConnectionError struct{ *Facts }

// TimeoutError is for no response within the timeout.
type TimeoutError struct{ *ConnectionError }

// Unwrap returns the facts of the error.
func (e *InvalidRequestError) Unwrap() error { return e.Facts }

// Unwrap returns the facts of the error.
func (e *AuthenticationError) Unwrap() error { return e.Facts }

// Unwrap returns the facts of the error.
func (e *AuthorizationError) Unwrap() error { return e.Facts }

// Unwrap returns the facts of the error.
func (e *RateLimitError) Unwrap() error { return e.Facts }

// Unwrap returns the facts of the error.
func (e *IdempotencyError) Unwrap() error { return e.Facts }

// Unwrap returns the facts of the error.
func (e *ProcessingError) Unwrap() error { return e.Facts }

// Unwrap returns the facts of the error.
func (e *WebhookError) Unwrap() error { return e.Facts }

// Unwrap returns the error that this is a kind of.
func (e *WebhookSignatureError) Unwrap() error { return e.WebhookError }

// Unwrap returns the facts of the error.
func (e *ConnectionError) Unwrap() error { return e.Facts }

// Unwrap returns the error that this is a kind of.
func (e *TimeoutError) Unwrap() error { return e.ConnectionError }

func classed(facts *Error) error {
	switch facts.Type {
	case "invalid_request_error":
		return &InvalidRequestError{facts}
	case "authentication_error":
		return &AuthenticationError{facts}
	case "authorization_error":
		return &AuthorizationError{facts}
	case "rate_limit_error":
		return &RateLimitError{facts}
	case "idempotency_error":
		return &IdempotencyError{facts}
	case "processing_error":
		return &ProcessingError{facts}
	case "webhook_error":
		return &WebhookError{facts}
	}
	return facts
}

// errorOf converts a response other than 2xx to an error.
func errorOf(received answer, key string) error {
	var body struct {
		Error struct {
			Type        string       `json:"type"`
			Code        string       `json:"code"`
			Message     string       `json:"message"`
			Param       string       `json:"param"`
			RequestID   string       `json:"request_id"`
			FieldErrors []FieldError `json:"field_errors"`
		} `json:"error"`
	}
	if json.Unmarshal(received.body, &body) != nil || body.Error.Type == "" || body.Error.Code == "" {
		return unreadable(received, key)
	}
	found := body.Error
	return classed(&Error{
		Type: found.Type, Code: found.Code, Message: found.Message, Param: found.Param, RequestID: found.RequestID,
		FieldErrors: found.FieldErrors, Status: received.status, IdempotencyKey: key,
		RetryAfter: retryAfterOf(received.header, time.Now()),
	})
}

// unreadable is a response of a proxy instead of the service.
func unreadable(received answer, key string) error {
	return classed(&Error{
		Type: "processing_error", Code: "unreadable_answer", Status: received.status, IdempotencyKey: key,
		Message:    fmt.Sprintf("The response with status %d does not come from the service.", received.status),
		RequestID:  received.header.Get("SVC-Request-ID"),
		RetryAfter: retryAfterOf(received.header, time.Now()),
	})
}

var wholeSeconds = regexp.MustCompile(`^[0-9]{1,9}$`)

// Seconds, or a date if a proxy has written the header.
func retryAfterOf(header http.Header, now time.Time) *time.Duration {
	text := header.Get("Retry-After")
	var wait time.Duration
	if wholeSeconds.MatchString(text) {
		seconds, _ := strconv.Atoi(text)
		wait = time.Duration(seconds) * time.Second
	} else {
		date, err := http.ParseTime(text)
		if err != nil {
			return nil
		}
		wait = max(0, date.Sub(now))
	}
	return &wait
}
