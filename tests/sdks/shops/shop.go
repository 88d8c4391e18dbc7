package main

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"log"
	"os"
	"time"

	svc "svc-payments.internal/go"
)

func main() {
	ctx := context.Background()
	client, err := svc.New(os.Getenv("SVC_KEY"), os.Getenv("SVC_URL"))
	if err != nil {
		log.Fatal(err)
	}
	customer, err := client.Customers.Create(ctx, &svc.CustomerCreate{
		Email: os.Getenv("EMAIL"), FirstName: "Ada", LastName: "Lovelace", Phone: os.Getenv("PHONE"),
	})
	if err != nil {
		log.Fatal(err)
	}
	found, err := client.Customers.List(ctx, &svc.ListCustomersParams{Email: svc.String(customer.Email)}).ToSlice(2)
	if err != nil {
		log.Fatal(err)
	}
	var missing *svc.InvalidRequestError
	_, err = client.Orders.Get(ctx, "019c4c21-4a00-7e11-9b2c-6d5e4f3a2b1c", nil)
	if !errors.As(err, &missing) {
		log.Fatal(err)
	}
	event, err := client.Sandbox.Events.Trigger(ctx, &svc.EventTrigger{Type: svc.EventOrderSucceeded})
	if err != nil {
		log.Fatal(err)
	}
	secret := "whsec_" + base64.StdEncoding.EncodeToString(make([]byte, 32))
	header, err := svc.SignTestEvent(event.Raw, time.Now(), secret)
	if err != nil {
		log.Fatal(err)
	}
	verified, err := svc.VerifyWebhook(event.Raw, header, secret)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(found), missing.Code, verified.Type)
}
