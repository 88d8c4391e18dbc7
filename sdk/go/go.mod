module svc-payments.internal/go

go 1.22
