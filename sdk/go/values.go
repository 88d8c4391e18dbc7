package svc

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// Secret is a text that is not shown in logs. Use string(secret) to read it.
type Secret string

const hidden = "…"

// String does not show the secret.
func (Secret) String() string { return hidden }

// GoString does not show the secret.
func (Secret) GoString() string { return hidden }

// LogValue does not show the secret.
func (Secret) LogValue() slog.Value { return slog.StringValue(hidden) }

// MarshalJSON does not show the secret, because loggers write objects as JSON.
func (Secret) MarshalJSON() ([]byte, error) { return json.Marshal(hidden) }

// Date is a day without a time.
type Date struct {
	Year  int
	Month time.Month
	Day   int
}

// DateOf is the day of a time, in the time zone of the time.
func DateOf(at time.Time) Date {
	year, month, day := at.Date()
	return Date{year, month, day}
}

func (d Date) String() string { return fmt.Sprintf("%04d-%02d-%02d", d.Year, d.Month, d.Day) }

// MarshalJSON writes 2026-02-11.
func (d Date) MarshalJSON() ([]byte, error) { return json.Marshal(d.String()) }

// UnmarshalJSON reads 2026-02-11, also at the beginning of a time.
func (d *Date) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return err
	}
	at, err := time.Parse(time.DateOnly, text[:min(len(text), len(time.DateOnly))])
	if err != nil {
		return err
	}
	*d = DateOf(at)
	return nil
}

// AnchorDay is a day of the month, for example "15", or "signup_date".
type AnchorDay string

// MarshalJSON writes days as numbers.
func (a AnchorDay) MarshalJSON() ([]byte, error) {
	if day, err := strconv.Atoi(string(a)); err == nil {
		return json.Marshal(day)
	}
	return json.Marshal(string(a))
}

// UnmarshalJSON reads numbers and texts.
func (a *AnchorDay) UnmarshalJSON(data []byte) error {
	*a = AnchorDay(strings.Trim(string(data), `"`))
	return nil
}

// Opt is an optional value of a request. The zero value is not sent, so a field stays as it is; Null clears a field.
type Opt[T any] struct {
	value T
	state int8
}

const (
	isOmitted int8 = iota
	isNull
	isSet
)

// Some is a value that is sent.
func Some[T any](value T) Opt[T] { return Opt[T]{value, isSet} }

// Null clears a field.
func Null[T any]() Opt[T] { return Opt[T]{state: isNull} }

// String is a text that is sent.
func String(value string) Opt[string] { return Some(value) }

// Int is a number that is sent, for example an amount.
func Int(value int64) Opt[int64] { return Some(value) }

// Bool is a value that is sent.
func Bool(value bool) Opt[bool] { return Some(value) }

func (o Opt[T]) sent() (any, int8) { return o.value, o.state }

// String shows the value.
func (o Opt[T]) String() string {
	if o.state == isSet {
		return fmt.Sprint(o.value)
	}
	return [...]string{"omitted", "null"}[o.state]
}

type optional interface{ sent() (any, int8) }

// TimeBounds limit a list to times. Zero times are no bounds.
type TimeBounds struct{ GT, GTE, LT, LTE time.Time }

// IntBounds limit a list to numbers.
type IntBounds struct{ GT, GTE, LT, LTE Opt[int64] }

// bodyOf is {} if there are no parameters.
func bodyOf[T any](params *T) any {
	if params == nil {
		return map[string]any{}
	}
	return params
}

func queryOf[T any](params *T) any {
	if params == nil {
		return nil
	}
	return params
}

const timeFormat = "2006-01-02T15:04:05.000Z"

// sendable converts parameters to what json.Marshal writes: without what is omitted, times in UTC.
func sendable(value any) (any, error) {
	return sendableValue(reflect.ValueOf(value))
}

func sendableValue(value reflect.Value) (any, error) {
	if !value.IsValid() {
		return nil, nil
	}
	switch found := value.Interface().(type) {
	case time.Time:
		return found.UTC().Format(timeFormat), nil
	case Date, AnchorDay, json.RawMessage:
		return found, nil
	}
	switch value.Kind() {
	case reflect.Pointer, reflect.Interface:
		if value.IsNil() {
			return nil, nil
		}
		return sendableValue(value.Elem())
	case reflect.Slice, reflect.Array:
		entries := make([]any, value.Len())
		for index := range entries {
			var err error
			if entries[index], err = sendableValue(value.Index(index)); err != nil {
				return nil, err
			}
		}
		return entries, nil
	case reflect.Struct:
		return sendableStruct(value)
	}
	return value.Interface(), nil
}

func sendableStruct(value reflect.Value) (any, error) {
	fields := map[string]any{}
	for index := range value.NumField() {
		tag, hasTag := value.Type().Field(index).Tag.Lookup("svc")
		if !hasTag {
			continue
		}
		name, isRequired := strings.CutSuffix(tag, ",required")
		field := value.Field(index)
		if one, is := field.Interface().(optional); is {
			inner, state := one.sent()
			if state == isOmitted && !isRequired {
				continue
			}
			if state != isSet {
				fields[name] = nil
				continue
			}
			field = reflect.ValueOf(inner)
		} else if (field.Kind() == reflect.Slice || field.Kind() == reflect.Map) && field.IsNil() && !isRequired {
			continue
		}
		sent, err := sendableValue(field)
		if err != nil {
			return nil, err
		}
		fields[name] = sent
	}
	return fields, nil
}

// queryText writes CreatedAt with a bound as created_at[gte], a list with commas.
func queryText(params any, fieldsOf string) (string, error) {
	query := url.Values{}
	if raw, is := params.(map[string]any); is {
		for name, value := range raw {
			query.Set(name, fmt.Sprint(value))
		}
	} else if params != nil {
		addFields(query, reflect.ValueOf(params).Elem(), fieldsOf)
	}
	if len(query) == 0 {
		return "", nil
	}
	return "?" + query.Encode(), nil
}

func addFields(query url.Values, params reflect.Value, fieldsOf string) {
	for index := range params.NumField() {
		name := params.Type().Field(index).Tag.Get("svc")
		if name == "fields" && fieldsOf != "" {
			name = "fields[" + fieldsOf + "]"
		}
		switch value := params.Field(index).Interface().(type) {
		case TimeBounds, IntBounds:
			addBounds(query, name, params.Field(index))
		case optional:
			if inner, state := value.sent(); state == isSet {
				query.Set(name, fmt.Sprint(inner))
			}
		default:
			addList(query, name, params.Field(index))
		}
	}
}

func addBounds(query url.Values, name string, bounds reflect.Value) {
	for index := range bounds.NumField() {
		bound := fmt.Sprintf("%s[%s]", name, strings.ToLower(bounds.Type().Field(index).Name))
		switch value := bounds.Field(index).Interface().(type) {
		case time.Time:
			if !value.IsZero() {
				query.Set(bound, value.UTC().Format(timeFormat))
			}
		case optional:
			if inner, state := value.sent(); state == isSet {
				query.Set(bound, fmt.Sprint(inner))
			}
		}
	}
}

func addList(query url.Values, name string, list reflect.Value) {
	if list.Kind() != reflect.Slice || list.IsNil() {
		return
	}
	texts := make([]string, list.Len())
	for index := range texts {
		texts[index] = fmt.Sprint(list.Index(index).Interface())
	}
	query.Set(name, strings.Join(texts, ","))
}
