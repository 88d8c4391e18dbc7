// Package svc calls the payments API from a server: every operation typed, retried where that is safe, and webhooks verified.
package svc

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"
)

// Client calls the payments API with a secret key. It can be used by several goroutines.
type Client struct {
	Resources
	settings settings
	// key is a function, because fmt prints the texts in fields that are not exported.
	key func() string
}

type settings struct {
	baseURL    string
	captureURL string
	timeout    time.Duration
	retryFor   time.Duration
	maxRetries int
	transport  http.RoundTripper
	hooks      Hooks
}

// Hooks see every attempt of a call, for logs, metrics and traces.
type Hooks struct {
	// BeforeRequest can add headers. Those of the SDK replace yours; the key is not in them.
	BeforeRequest func(BeforeRequest)
	AfterResponse func(AfterResponse)
}

// BeforeRequest is an attempt that is about to be sent.
type BeforeRequest struct {
	Method, URL string
	// Attempt is 1 for the first attempt.
	Attempt int
	Header  http.Header
}

// AfterResponse is an attempt with its response. Status is 0 if there was none.
type AfterResponse struct {
	Method, URL string
	Attempt     int
	Duration    time.Duration
	Status      int
	RequestID   string
	Header      http.Header
}

// Option is an option of a client.
type Option func(*settings)

// WithTimeout limits each attempt. The default is one minute.
func WithTimeout(timeout time.Duration) Option { return func(s *settings) { s.timeout = timeout } }

// WithRetryFor sets how long after the first failure attempts can start. The default is 45 seconds; 0 is for no retries.
func WithRetryFor(retryFor time.Duration) Option {
	return func(s *settings) { s.retryFor = retryFor }
}

// WithMaxRetries limits the number of retries. By default only the time is limited.
func WithMaxRetries(retries int) Option { return func(s *settings) { s.maxRetries = retries } }

// WithCaptureURL sets the URL for raw cards. The default is the path /capture of the service.
func WithCaptureURL(url string) Option { return func(s *settings) { s.captureURL = url } }

// WithHooks sets functions that see every attempt.
func WithHooks(hooks Hooks) Option { return func(s *settings) { s.hooks = hooks } }

// WithTransport sets what sends the requests, for example in tests. Redirects are never followed.
func WithTransport(transport http.RoundTripper) Option {
	return func(s *settings) { s.transport = transport }
}

// ErrUsage is the error of a call that was refused before anything was sent, because it cannot be right.
var ErrUsage = errors.New("svc")

func usage(format string, values ...any) error {
	return fmt.Errorf("%w: %s", ErrUsage, fmt.Sprintf(format, values...))
}

var (
	publishableKey = regexp.MustCompile(`^svc_[a-z]+_pk_`)
	visible        = regexp.MustCompile(`^[!-~]+$`)
	webURL         = regexp.MustCompile(`^https?://[^/]`)
)

// New returns a client for a secret key: New("svc_test_sk_…", "https://pay.example.com").
func New(apiKey, baseURL string, options ...Option) (*Client, error) {
	if apiKey == "" {
		return nil, usage("New requires an API key")
	}
	if publishableKey.MatchString(apiKey) {
		return nil, usage("New requires a secret key (svc_…_sk_…), not a publishable key, which is for web pages")
	}
	if !visible.MatchString(apiKey) {
		return nil, usage("the API key contains a space, a line break or another character that a key never has")
	}
	if !webURL.MatchString(baseURL) {
		return nil, usage("the base URL must begin with https:// or http://, not %q", baseURL)
	}
	client := &Client{key: func() string { return apiKey }, settings: settings{
		baseURL: strings.TrimRight(baseURL, "/"), timeout: time.Minute, retryFor: 45 * time.Second, maxRetries: -1,
		transport: http.DefaultTransport,
	}}
	for _, option := range options {
		option(&client.settings)
	}
	if client.settings.timeout <= 0 || client.settings.retryFor < 0 {
		return nil, usage("a timeout must be greater than 0, and the time for retries 0 or greater")
	}
	client.Resources = newResources(client)
	return client, nil
}

// String does not show the key.
func (c *Client) String() string { return fmt.Sprintf("svc.Client(%s)", c.settings.baseURL) }

// GoString does not show the key.
func (c *Client) GoString() string { return c.String() }

// RawRequest is a call of any path of the service.
type RawRequest struct {
	// Method is GET, POST, PATCH or DELETE. Writes get an idempotency key.
	Method string
	// Path begins with one slash, for example /v1/orders.
	Path  string
	Query map[string]any
	// Body is sent as JSON; nil for none.
	Body any
}

// Request calls any path of the service, with the key, retries and errors of the other methods, and decodes the answer into result.
func (c *Client) Request(ctx context.Context, request RawRequest, result any, options ...RequestOption) error {
	path := request.Path
	if len(path) < 2 || path[0] != '/' || path[1] == '/' || path[1] == '\\' {
		return usage("Request requires a path that begins with one slash, for example /v1/orders")
	}
	switch request.Method {
	case http.MethodGet, http.MethodPost, http.MethodPatch, http.MethodDelete:
	default:
		return usage("Request requires one of the methods GET, POST, PATCH and DELETE")
	}
	raw := operation{method: request.Method, path: strings.ReplaceAll(path, "{", "%7B"), keyed: request.Method != http.MethodGet}
	return c.do(ctx, call{operation: raw, query: request.Query, body: request.Body, options: options}, result)
}
