// Program webhook-receiver receives the events of the payments API, and prints each order that was paid.
package main

import (
	"io"
	"log"
	"net/http"
	"os"
	"sync"

	svc "svc-payments.internal/go"
)

// handled has the IDs of events that were handled. Keep them in your database: a delivery can arrive more than once.
var handled sync.Map

func receive(response http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(response, request.Body, 1<<20))
	if err != nil {
		http.Error(response, "the body is too large", http.StatusRequestEntityTooLarge)
		return
	}
	event, err := svc.VerifyWebhook(body, request.Header, os.Getenv("SVC_WEBHOOK_SECRET"))
	if err != nil {
		log.Print(err)
		http.Error(response, "the signature is wrong", http.StatusBadRequest)
		return
	}
	if _, again := handled.LoadOrStore(event.ID, true); !again {
		handle(event)
	}
	response.WriteHeader(http.StatusOK)
}

func handle(event *svc.Event) {
	switch object := event.Data.Object.(type) {
	case *svc.Order:
		log.Printf("%s: order %s, %d %s", event.Type, object.OrderNumber, object.Total, object.Currency)
	case *svc.Subscription:
		log.Printf("%s: subscription %s is %s", event.Type, object.ID, object.Status)
	default:
		log.Print(event.Type)
	}
}

func main() {
	address := os.Getenv("ADDRESS")
	if address == "" {
		address = "127.0.0.1:3000"
	}
	http.HandleFunc("POST /webhooks", receive)
	log.Print("listening at http://", address, "/webhooks")
	log.Fatal(http.ListenAndServe(address, nil))
}
