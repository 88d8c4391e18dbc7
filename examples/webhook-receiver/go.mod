module example.com/webhook-receiver

go 1.22

require svc-payments.internal/go v0.2.0
