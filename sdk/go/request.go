package svc

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"
)

type operation struct {
	method, path string
	// keyed operations use an idempotency key; the others change nothing.
	keyed bool
	// fieldsOf is the name in fields[orders].
	fieldsOf string
}

type call struct {
	operation operation
	ids       []string
	query     any
	body      any
	file      []byte
	isUpload  bool
	options   []RequestOption
}

// Response is the response of a call that succeeded.
type Response struct {
	Status int
	// RequestID names the request when you ask about it.
	RequestID string
	Header    http.Header
	// Body is the JSON as the service has sent it, with fields that this version does not know.
	Body []byte
}

// Version of the object as Get or Update has returned it, for the option IfMatch.
func (r *Response) Version() string { return r.Header.Get("ETag") }

// String does not show the body, which can contain secrets.
func (r *Response) String() string { return fmt.Sprintf("svc.Response(%d, %s)", r.Status, r.RequestID) }

// GoString does not show the body.
func (r *Response) GoString() string { return r.String() }

type requestOptions struct {
	idempotencyKey string
	ifMatch        *string
	timeout        time.Duration
	retryFor       time.Duration
	maxRetries     int
	response       *Response
}

// RequestOption is an option of one call.
type RequestOption func(*requestOptions)

// IdempotencyKey sets the key of a write, to continue an operation after a restart of your process. By default, it is a new one.
func IdempotencyKey(key string) RequestOption {
	return func(o *requestOptions) { o.idempotencyKey = key }
}

// IfMatch is the version that the object must still have. If it has changed, an update does nothing and returns an
// InvalidRequestError with the code resource_changed. An empty version is refused.
func IfMatch(version string) RequestOption { return func(o *requestOptions) { o.ifMatch = &version } }

// Timeout limits each attempt of this call.
func Timeout(timeout time.Duration) RequestOption {
	return func(o *requestOptions) { o.timeout = timeout }
}

// RetryFor sets how long after the first failure attempts of this call can start.
func RetryFor(retryFor time.Duration) RequestOption {
	return func(o *requestOptions) { o.retryFor = retryFor }
}

// MaxRetries limits the number of retries of this call.
func MaxRetries(retries int) RequestOption { return func(o *requestOptions) { o.maxRetries = retries } }

// KeepResponse stores the response of the call.
func KeepResponse(response *Response) RequestOption {
	return func(o *requestOptions) { o.response = response }
}

func fetch[T any](ctx context.Context, client *Client, one call) (*T, error) {
	result := new(T)
	if err := client.do(ctx, one, result); err != nil {
		return nil, err
	}
	return result, nil
}

func (c *Client) do(ctx context.Context, one call, result any) error {
	options := requestOptions{timeout: c.settings.timeout, retryFor: c.settings.retryFor, maxRetries: c.settings.maxRetries}
	for _, option := range one.options {
		option(&options)
	}
	if options.timeout <= 0 || options.retryFor < 0 {
		return usage("a timeout must be greater than 0, and the time for retries 0 or greater")
	}
	if one.operation.keyed && options.idempotencyKey == "" {
		options.idempotencyKey = newKey()
	}
	prepared, err := c.prepare(one, options)
	if err != nil {
		return err
	}
	answer, err := c.withRetries(ctx, prepared, options)
	if err != nil {
		return err
	}
	if options.response != nil {
		*options.response = Response{answer.status, answer.header.Get("SVC-Request-ID"), answer.header, answer.body}
	}
	if result == nil {
		return nil
	}
	if err := json.Unmarshal(answer.body, result); err != nil {
		return unreadable(answer, options.idempotencyKey)
	}
	return nil
}

type prepared struct {
	method, url string
	header      http.Header
	content     []byte
	hasContent  bool
}

var headerValue = regexp.MustCompile(`^[\x20-\x7e]*$`)

func (c *Client) prepare(one call, options requestOptions) (prepared, error) {
	path, err := pathOf(one.operation.path, one.ids)
	if err != nil {
		return prepared{}, err
	}
	query, err := queryText(one.query, one.operation.fieldsOf)
	if err != nil {
		return prepared{}, err
	}
	target := c.settings.baseURL + path + query
	if one.operation.path == "/capture" && c.settings.captureURL != "" {
		target = c.settings.captureURL
	}
	header := http.Header{}
	header.Set("Accept", "application/json")
	header.Set("Authorization", "Bearer "+c.key())
	header.Set("User-Agent", "svc-payments-go/"+Version)
	// The types match this version, not the one that the company is pinned to.
	header.Set("SVC-Version", APIVersion)
	if one.operation.keyed {
		header.Set("X-SVC-Idempotency-Key", options.idempotencyKey)
	}
	if options.ifMatch != nil {
		if *options.ifMatch == "" {
			return prepared{}, usage("IfMatch requires the version of an object that Get or Update has returned")
		}
		header.Set("If-Match", *options.ifMatch)
	}
	content, contentType, err := contentOf(one)
	if err != nil {
		return prepared{}, err
	}
	if contentType != "" {
		header.Set("Content-Type", contentType)
	}
	for name := range header {
		if !headerValue.MatchString(header.Get(name)) {
			return prepared{}, usage("the header %s has a character that a header cannot have", name)
		}
	}
	return prepared{one.operation.method, target, header, content, contentType != ""}, nil
}

func contentOf(one call) ([]byte, string, error) {
	if one.isUpload {
		boundary := strings.ReplaceAll(newKey(), "-", "")
		head := "--" + boundary + "\r\nContent-Disposition: form-data; name=\"file\"; filename=\"image\"\r\n" +
			"Content-Type: application/octet-stream\r\n\r\n"
		content := append([]byte(head), one.file...)
		return append(content, "\r\n--"+boundary+"--\r\n"...), "multipart/form-data; boundary=" + boundary, nil
	}
	if one.body == nil {
		return nil, "", nil
	}
	value, err := sendable(one.body)
	if err != nil {
		return nil, "", err
	}
	content, err := json.Marshal(value)
	if err != nil {
		return nil, "", usage("the body cannot be sent as JSON: %v", err)
	}
	return content, "application/json", nil
}

var placeholder = regexp.MustCompile(`\{\w+\}`)

// An empty ID or .. would lead to another path, for example to the list.
func pathOf(template string, ids []string) (string, error) {
	var err error
	index := 0
	path := placeholder.ReplaceAllStringFunc(template, func(name string) string {
		if index >= len(ids) || ids[index] == "" || ids[index] == "." || ids[index] == ".." {
			err = usage("%s must be the ID of an object", strings.Trim(name, "{}"))
			return ""
		}
		index++
		return url.PathEscape(ids[index-1])
	})
	return path, err
}

type answer struct {
	status int
	header http.Header
	body   []byte
}

// exchange is one attempt, including the complete response.
func (c *Client) exchange(ctx context.Context, request prepared, attempt int, options requestOptions) (answer, error) {
	limited, cancel := context.WithTimeout(ctx, options.timeout)
	defer cancel()
	var content io.Reader
	if request.hasContent {
		content = bytes.NewReader(request.content)
	}
	sent, err := http.NewRequestWithContext(limited, request.method, request.url, content)
	if err != nil {
		return answer{}, usage("the URL of the request is invalid")
	}
	if hook := c.settings.hooks.BeforeRequest; hook != nil {
		hook(BeforeRequest{request.method, request.url, attempt, sent.Header})
	}
	for name, values := range request.header {
		sent.Header[name] = values
	}
	startedAt := time.Now()
	received, failure := c.receive(sent)
	if hook := c.settings.hooks.AfterResponse; hook != nil {
		hook(AfterResponse{
			request.method, request.url, attempt, time.Since(startedAt),
			received.status, received.header.Get("SVC-Request-ID"), received.header,
		})
	}
	if failure == nil {
		return received, nil
	}
	if ctx.Err() != nil {
		return answer{}, ctx.Err()
	}
	facts := Error{Type: "connection_error", IdempotencyKey: options.idempotencyKey, cause: failure}
	if errors.Is(failure, context.DeadlineExceeded) {
		facts.Code, facts.Message = "timed_out", fmt.Sprintf("No response within %s.", options.timeout)
		return answer{}, &TimeoutError{&ConnectionError{&facts}}
	}
	facts.Code = "connection_failed"
	facts.Message = fmt.Sprintf("The service is unreachable at %s://%s.", sent.URL.Scheme, sent.URL.Host)
	return answer{}, &ConnectionError{&facts}
}

func (c *Client) receive(request *http.Request) (answer, error) {
	// RoundTrip follows no redirect. The key must not follow one from elsewhere.
	response, err := c.settings.transport.RoundTrip(request)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return answer{}, err
	}
	return answer{response.StatusCode, response.Header, body}, nil
}

func newKey() string {
	random := make([]byte, 16)
	if _, err := rand.Read(random); err != nil {
		panic(err)
	}
	random[6], random[8] = random[6]&0x0f|0x40, random[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", random[:4], random[4:6], random[6:8], random[8:10], random[10:])
}
