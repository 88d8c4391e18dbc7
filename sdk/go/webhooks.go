package svc

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Event is what a webhook endpoint receives. The type of Data.Object follows from Type.
type Event struct {
	// ID is the same in every delivery attempt.
	ID         string
	Type       EventType
	CreatedAt  time.Time
	APIVersion string
	Livemode   bool
	// Sequence numbers the events of an object. Use it to put events in order.
	Sequence  int64
	RequestID *string
	Data      EventData
	// Raw is the JSON of the event.
	Raw json.RawMessage
}

// EventData is the object of an event, for example *Order.
type EventData struct {
	// Object is a pointer to the object, or map[string]any for a type that this version does not know.
	Object any
	// Previous are, for updates, the changed fields with their old values.
	Previous map[string]any
}

// UnmarshalJSON reads an event, also of an unknown type.
func (e *Event) UnmarshalJSON(data []byte) error {
	var wire struct {
		ID         string    `json:"id"`
		Type       EventType `json:"type"`
		CreatedAt  time.Time `json:"created_at"`
		APIVersion string    `json:"api_version"`
		Livemode   bool      `json:"livemode"`
		Sequence   int64     `json:"sequence"`
		RequestID  *string   `json:"request_id"`
		Data       struct {
			Object   json.RawMessage `json:"object"`
			Previous map[string]any  `json:"previous"`
		} `json:"data"`
	}
	if err := json.Unmarshal(data, &wire); err != nil {
		return err
	}
	*e = Event{
		wire.ID, wire.Type, wire.CreatedAt, wire.APIVersion, wire.Livemode, wire.Sequence, wire.RequestID,
		EventData{Previous: wire.Data.Previous}, append(json.RawMessage(nil), data...),
	}
	e.Data.Object = newEventObject(wire.Type)
	if e.Data.Object == nil {
		e.Data.Object = map[string]any{}
	}
	if len(wire.Data.Object) == 0 {
		return nil
	}
	if unknown, is := e.Data.Object.(map[string]any); is {
		return json.Unmarshal(wire.Data.Object, &unknown)
	}
	return json.Unmarshal(wire.Data.Object, e.Data.Object)
}

// MarshalJSON writes the event as the service has sent it.
func (e Event) MarshalJSON() ([]byte, error) { return e.Raw, nil }

const (
	secretPrefix = "whsec_"
	secretRule   = "A signing secret must start with whsec_. Is the variable with the secret set?"
)

// WebhookVerifier verifies deliveries. The zero value of Tolerance is 300 seconds, and that of Now the current time.
type WebhookVerifier struct {
	// Secrets: one that matches is enough, so pass two during a rotation.
	Secrets []string
	// Tolerance is the maximum difference between the signing time and now, in both directions.
	Tolerance time.Duration
	Now       func() time.Time
}

// String does not show the secrets.
func (v WebhookVerifier) String() string {
	return fmt.Sprintf("svc.WebhookVerifier(%d secrets)", len(v.Secrets))
}

// GoString does not show the secrets.
func (v WebhookVerifier) GoString() string { return v.String() }

// VerifyWebhook returns the event of a delivery, or a WebhookSignatureError. Pass the raw body, before any parsing.
func VerifyWebhook(body []byte, header http.Header, secrets ...string) (*Event, error) {
	return WebhookVerifier{Secrets: secrets}.Verify(body, header)
}

// Verify returns the event of a delivery, or a WebhookSignatureError. Pass the raw body, before any parsing.
func (v WebhookVerifier) Verify(body []byte, header http.Header) (*Event, error) {
	if !usable(v.Secrets) {
		return nil, refusal(secretRule)
	}
	signed, err := signatureOf(header)
	if err != nil {
		return nil, err
	}
	matches := false
	for _, secret := range v.Secrets {
		expected, err := signed.sign(secret, body)
		if err != nil {
			return nil, err
		}
		// Compares every signature completely, so that the duration reveals nothing.
		for _, given := range signed.signatures {
			matches = hmac.Equal([]byte(given), []byte(expected)) || matches
		}
	}
	if !matches {
		return nil, refusal("No signature matches the body and the secret.")
	}
	tolerance, now := v.Tolerance, time.Now()
	if tolerance == 0 {
		tolerance = 300 * time.Second
	}
	if v.Now != nil {
		now = v.Now()
	}
	distance := math.Abs(float64(now.UnixMilli())/1_000 - float64(signed.timestamp))
	if distance > tolerance.Seconds() {
		return nil, refusal(fmt.Sprintf("The delivery was signed %.0f seconds away from now.", distance))
	}
	event := new(Event)
	if err := json.Unmarshal(body, event); err != nil {
		return nil, err
	}
	return event, nil
}

type signature struct {
	timestamp  int64
	signatures []string
	sign       func(secret string, body []byte) (string, error)
}

func signatureOf(header http.Header) (*signature, error) {
	if own := header.Get("SVC-Signature"); own != "" {
		return ownSignature(own)
	}
	id, standard := header.Get("webhook-id"), header.Get("webhook-signature")
	if id == "" || standard == "" {
		return nil, refusal("The delivery has no signature header.")
	}
	timestamp, err := secondsOf(header.Get("webhook-timestamp"))
	if err != nil {
		return nil, err
	}
	signed := &signature{timestamp: timestamp}
	signed.sign = func(secret string, body []byte) (string, error) { return signStandard(secret, id, timestamp, body) }
	for _, part := range strings.Split(standard, " ") {
		if given, is := strings.CutPrefix(part, "v1,"); is {
			signed.signatures = append(signed.signatures, given)
		}
	}
	return signed, nil
}

// SVC-Signature: t=<seconds>,v1=<hex>, with one v1 per valid secret.
func ownSignature(header string) (*signature, error) {
	signed := &signature{}
	seconds := ""
	for _, part := range strings.Split(header, ",") {
		part = strings.TrimSpace(part)
		if text, is := strings.CutPrefix(part, "t="); is && seconds == "" {
			seconds = text
		}
		if given, is := strings.CutPrefix(part, "v1="); is {
			signed.signatures = append(signed.signatures, given)
		}
	}
	timestamp, err := secondsOf(seconds)
	if err != nil {
		return nil, err
	}
	signed.timestamp = timestamp
	signed.sign = func(secret string, body []byte) (string, error) { return signOwn(secret, timestamp, body), nil }
	return signed, nil
}

func signOwn(secret string, timestamp int64, body []byte) string {
	return hex.EncodeToString(sum([]byte(secret), fmt.Sprintf("%d.", timestamp), body))
}

func signStandard(secret, id string, timestamp int64, body []byte) (string, error) {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, secretPrefix))
	if err != nil {
		return "", refusal("The signing secret is not complete: copy the whole secret.")
	}
	return base64.StdEncoding.EncodeToString(sum(key, fmt.Sprintf("%s.%d.", id, timestamp), body)), nil
}

func sum(key []byte, prefix string, body []byte) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(prefix))
	mac.Write(body)
	return mac.Sum(nil)
}

// SignTestEvent returns the headers of a delivery, to test a receiver. With two secrets, it looks as during a rotation.
func SignTestEvent(body []byte, at time.Time, secrets ...string) (http.Header, error) {
	var event struct {
		ID   string `json:"id"`
		Type string `json:"type"`
	}
	if !usable(secrets) {
		return nil, usage("%s", secretRule)
	}
	if err := json.Unmarshal(body, &event); err != nil {
		return nil, usage("the body is not an event")
	}
	own, standard := []string{fmt.Sprintf("t=%d", at.Unix())}, []string{}
	for _, secret := range secrets {
		one, err := signStandard(secret, event.ID, at.Unix(), body)
		if err != nil {
			return nil, err
		}
		own, standard = append(own, "v1="+signOwn(secret, at.Unix(), body)), append(standard, "v1,"+one)
	}
	header := http.Header{}
	for name, value := range map[string]string{
		"Content-Type": "application/json", "SVC-Event-ID": event.ID, "SVC-Event-Type": event.Type,
		"SVC-Delivery-Attempt": "1", "SVC-Signature": strings.Join(own, ","), "webhook-id": event.ID,
		"webhook-timestamp": strconv.FormatInt(at.Unix(), 10), "webhook-signature": strings.Join(standard, " "),
	} {
		header.Set(name, value)
	}
	return header, nil
}

// An unset variable must not become an empty key that anyone can sign with.
func usable(secrets []string) bool {
	for _, secret := range secrets {
		if !strings.HasPrefix(secret, secretPrefix) || secret == secretPrefix {
			return false
		}
	}
	return len(secrets) > 0
}

var digits = regexp.MustCompile(`^[0-9]{1,15}$`)

func secondsOf(text string) (int64, error) {
	if !digits.MatchString(text) {
		return 0, refusal("The signature header has no valid timestamp.")
	}
	return strconv.ParseInt(text, 10, 64)
}

func refusal(message string) error {
	return &WebhookSignatureError{&WebhookError{&Error{Type: "webhook_error", Code: "webhook_signature_failed", Message: message}}}
}
