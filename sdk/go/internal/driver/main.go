// Program driver plays the scenarios in sdk/scenarios with the Go SDK: one command per line, one answer per line.
package main

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"reflect"
	"strings"
	"time"

	svc "svc-payments.internal/go"
)

type command struct {
	Do         string            `json:"do"`
	Name       string            `json:"name"`
	Client     string            `json:"client"`
	Key        string            `json:"key"`
	BaseURL    string            `json:"base_url"`
	Method     string            `json:"method"`
	IDs        []string          `json:"ids"`
	Body       json.RawMessage   `json:"body"`
	Query      map[string]any    `json:"query"`
	File       *string           `json:"file"`
	Options    map[string]any    `json:"options"`
	Take       int               `json:"take"`
	HTTPMethod string            `json:"http_method"`
	Path       string            `json:"path"`
	Headers    map[string]string `json:"headers"`
	Secret     []string          `json:"secret"`
	Event      json.RawMessage   `json:"event"`
	ToleranceS float64           `json:"tolerance_s"`
	NowS       int64             `json:"now_s"`
	TimestampS int64             `json:"timestamp_s"`
	Types      map[string]string `json:"types"`
}

var (
	clients = map[string]*svc.Client{}
	shown   strings.Builder
)

func show(value any) { fmt.Fprintf(&shown, "%v %+v %#v\n", value, value, value) }

func milliseconds(value any) time.Duration { return time.Duration(value.(float64)) * time.Millisecond }

func clientOf(c command) *svc.Client {
	if c.Client == "" {
		return clients["main"]
	}
	return clients[c.Client]
}

func create(c command) error {
	hooks := svc.Hooks{BeforeRequest: func(one svc.BeforeRequest) { show(one) }, AfterResponse: func(one svc.AfterResponse) { show(one) }}
	options := []svc.Option{svc.WithHooks(hooks)}
	if value, has := c.Options["retry_for_ms"]; has {
		options = append(options, svc.WithRetryFor(milliseconds(value)))
	}
	client, err := svc.New(c.Key, c.BaseURL, options...)
	if err != nil {
		return err
	}
	if c.Name == "" {
		c.Name = "main"
	}
	clients[c.Name] = client
	return nil
}

func optionsOf(c command, response *svc.Response) []svc.RequestOption {
	found := []svc.RequestOption{svc.KeepResponse(response)}
	for name, value := range c.Options {
		switch name {
		case "idempotency_key":
			found = append(found, svc.IdempotencyKey(value.(string)))
		case "if_match":
			found = append(found, svc.IfMatch(value.(string)))
		case "timeout_ms":
			found = append(found, svc.Timeout(milliseconds(value)))
		case "retry_for_ms":
			found = append(found, svc.RetryFor(milliseconds(value)))
		case "max_retries":
			found = append(found, svc.MaxRetries(int(value.(float64))))
		}
	}
	return found
}

func upper(name string) string { return strings.ToUpper(name[:1]) + name[1:] }

func methodOf(c command) reflect.Value {
	names := strings.Split(c.Method, ".")
	value := reflect.ValueOf(clientOf(c))
	for _, name := range names[:len(names)-1] {
		value = value.Elem().FieldByName(upper(name))
	}
	return value.MethodByName(upper(names[len(names)-1]))
}

// call calls a method as a user does: with parameters of its types.
func call(c command, response *svc.Response) []reflect.Value {
	method := methodOf(c)
	parameters := []reflect.Value{reflect.ValueOf(context.Background())}
	for _, id := range c.IDs {
		parameters = append(parameters, reflect.ValueOf(id))
	}
	if c.File != nil {
		content, _ := base64.StdEncoding.DecodeString(*c.File)
		parameters = append(parameters, reflect.ValueOf(content))
	}
	if kind := method.Type(); len(parameters) < kind.NumIn()-1 {
		params := reflect.New(kind.In(len(parameters)).Elem())
		values := c.Query
		if len(c.Body) > 0 {
			_ = json.Unmarshal(c.Body, &values)
		}
		if values == nil {
			params = reflect.Zero(kind.In(len(parameters)))
		} else {
			fill(params.Elem(), values)
		}
		parameters = append(parameters, params)
	}
	for _, option := range optionsOf(c, response) {
		parameters = append(parameters, reflect.ValueOf(option))
	}
	return method.Call(parameters)
}

// fill sets the fields of parameters from JSON.
func fill(target reflect.Value, value any) {
	switch {
	case strings.HasPrefix(target.Type().Name(), "Opt["):
		fillOptional(target, value)
	case target.Kind() == reflect.Slice:
		list := value.([]any)
		entries := reflect.MakeSlice(target.Type(), len(list), len(list))
		for index, one := range list {
			fill(entries.Index(index), one)
		}
		target.Set(entries)
	case target.Type() == reflect.TypeOf(svc.TimeBounds{}):
		for name, one := range value.(map[string]any) {
			at, _ := time.Parse(time.DateOnly, one.(string))
			target.FieldByName(strings.ToUpper(name)).Set(reflect.ValueOf(at))
		}
	case target.Kind() == reflect.Struct && target.Type() != reflect.TypeOf(time.Time{}):
		for index := range target.NumField() {
			name, _, _ := strings.Cut(target.Type().Field(index).Tag.Get("svc"), ",")
			if one, has := value.(map[string]any)[name]; has {
				fill(target.Field(index), one)
			}
		}
	default:
		text, _ := json.Marshal(value)
		_ = json.Unmarshal(text, target.Addr().Interface())
	}
}

// Opt has no exported fields, so its values are made by its constructors.
func fillOptional(target reflect.Value, value any) {
	made, known := optionals[target.Type()]
	if !known {
		panic(fmt.Sprintf("the driver cannot make a %s", target.Type()))
	}
	target.Set(reflect.ValueOf(made(value)))
}

func opt[T any](value any) any {
	if value == nil {
		return svc.Null[T]()
	}
	var found T
	fill(reflect.ValueOf(&found).Elem(), value)
	return svc.Some(found)
}

// A type for each optional value that the scenarios send.
var optionals = map[reflect.Type]func(any) any{}

func register[T any]() { optionals[reflect.TypeOf(svc.Opt[T]{})] = opt[T] }

func init() {
	register[string]()
	register[int64]()
	register[float64]()
	register[bool]()
	register[map[string]any]()
	register[[]string]()
	register[svc.CaptureMode]()
	register[svc.ClockStep]()
	register[svc.CodeBatch]()
	register[svc.DeliveryStatus]()
	register[svc.EventType]()
	register[svc.EventVersion]()
	register[svc.PricingUpdate]()
	register[svc.WebhookEndpointStatus]()
}

func list(c command) (any, error) {
	pages := call(c, &svc.Response{})[0]
	ids := []string{}
	for pages.MethodByName("Next").Call(nil)[0].Bool() {
		ids = append(ids, pages.MethodByName("Item").Call(nil)[0].Elem().FieldByName("ID").String())
		if len(ids) == c.Take {
			break
		}
	}
	if err, is := pages.MethodByName("Err").Call(nil)[0].Interface().(error); is {
		return nil, err
	}
	distinct := map[string]bool{}
	for _, id := range ids {
		distinct[id] = true
	}
	return map[string]any{"ids": ids, "count": len(distinct)}, nil
}

func called(c command, response *svc.Response) (any, error) {
	results := call(c, response)
	if len(results) == 1 {
		page := results[0].MethodByName("Page").Call(nil)
		results = []reflect.Value{page[0], page[1]}
	}
	err, _ := results[1].Interface().(error)
	return results[0].Interface(), err
}

func verify(c command) (any, error) {
	header := http.Header{}
	for name, value := range c.Headers {
		header.Set(name, value)
	}
	verifier := svc.WebhookVerifier{
		Secrets: c.Secret, Tolerance: time.Duration(c.ToleranceS) * time.Second,
		Now: func() time.Time { return time.Unix(c.NowS, 0) },
	}
	body := ""
	_ = json.Unmarshal(c.Body, &body)
	event, err := verifier.Verify([]byte(body), header)
	if err != nil {
		return nil, err
	}
	return event, nil
}

func sign(c command) (any, error) {
	header, err := svc.SignTestEvent(c.Event, time.Unix(c.TimestampS, 0), c.Secret...)
	if err != nil {
		return nil, err
	}
	headers := map[string]string{}
	for name := range header {
		headers[name] = header.Get(name)
	}
	return map[string]any{"body": string(c.Event), "headers": headers}, nil
}

func do(c command, response *svc.Response) (any, error) {
	switch c.Do {
	case "client":
		return nil, create(c)
	case "call":
		return called(c, response)
	case "list":
		return list(c)
	case "raw":
		var result any
		request := svc.RawRequest{Method: c.HTTPMethod, Path: c.Path, Query: c.Query}
		if len(c.Body) > 0 {
			request.Body = c.Body
		}
		return &result, clientOf(c).Request(context.Background(), request, &result, optionsOf(c, response)...)
	case "verify":
		return verify(c)
	case "sign":
		return sign(c)
	case "show":
		client := clientOf(c)
		show(client)
		show(*client)
		return nil, nil
	}
	return nil, fmt.Errorf("this driver cannot %s", c.Do)
}

func seenError(err error) map[string]any {
	show(err)
	var facts *svc.Error
	if !errors.As(err, &facts) {
		if errors.Is(err, svc.ErrUsage) {
			return map[string]any{"class": "UsageError", "message": err.Error()}
		}
		return map[string]any{"class": fmt.Sprintf("%T", err), "message": err.Error()}
	}
	class := strings.TrimPrefix(fmt.Sprintf("%T", err), "*svc.")
	if class == "Error" {
		class = "SvcError"
	}
	seen := map[string]any{
		"class": class, "code": facts.Code, "type": facts.Type, "message": facts.Message, "param": facts.Param,
		"request_id": facts.RequestID, "idempotency_key": facts.IdempotencyKey, "field_errors": facts.FieldErrors,
	}
	if facts.Status != 0 {
		seen["status"] = facts.Status
	}
	if facts.RetryAfter != nil {
		seen["retry_after_s"] = facts.RetryAfter.Seconds()
	}
	return seen
}

func typesOf(result any, wanted map[string]string) map[string]string {
	found := map[string]string{}
	for path := range wanted {
		value := reflect.ValueOf(result)
		for _, name := range strings.Split(path, ".") {
			value = reflect.Indirect(value)
			for value.Kind() == reflect.Interface || value.Kind() == reflect.Pointer {
				value = value.Elem()
			}
			words := strings.Split(name, "_")
			for index, word := range words {
				words[index] = upper(word)
				if word == "id" {
					words[index] = "ID"
				}
			}
			value = value.FieldByName(strings.Join(words, ""))
		}
		switch value.Interface().(type) {
		case int64:
			found[path] = "integer"
		case string:
			found[path] = "text"
		case time.Time:
			found[path] = "time"
		case svc.Date:
			found[path] = "date"
		}
	}
	return found
}

// plain is the result with the secrets that JSON does not show.
func plain(result any) any {
	if made, is := result.(*svc.CreatedWebhookEndpoint); is {
		return map[string]any{"id": made.ID, "signing_secret": string(made.SigningSecret)}
	}
	return result
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var c command
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			panic(err)
		}
		response := svc.Response{}
		seen := map[string]any{}
		result, err := do(c, &response)
		if err != nil {
			seen["error"] = seenError(err)
		} else {
			show(result)
			seen["result"] = plain(result)
			if c.Types != nil {
				seen["types"] = typesOf(result, c.Types)
			}
			if response.Status != 0 {
				show(response)
				seen["response"] = map[string]any{
					"status": response.Status, "request_id": response.RequestID, "version": response.Version(),
				}
			}
		}
		if c.Do == "show" {
			seen["shown"] = shown.String()
		}
		text, err := json.Marshal(seen)
		if err != nil {
			panic(err)
		}
		fmt.Println(string(text))
	}
}
