// Calls every operation of a running service with the client that oapi-codegen makes from its OpenAPI document.
package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"mime/multipart"
	"net/http"
	"os"
	"strings"
	"time"

	"svc.test/generators/api"

	"github.com/google/uuid"
	"github.com/oapi-codegen/runtime/types"
)

type answer interface {
	StatusCode() int
	GetBody() []byte
}

func check[Answer answer](given Answer, err error, wanted int) Answer {
	must(err)
	if given.StatusCode() != wanted {
		panic(fmt.Sprintf("%T: %d %s", given, given.StatusCode(), given.GetBody()))
	}
	return given
}

func done[Answer answer](given Answer, err error) Answer { return check(given, err, http.StatusOK) }
func created[Answer answer](given Answer, err error) Answer {
	return check(given, err, http.StatusCreated)
}
func refused[Answer answer](given Answer, err error) Answer {
	return check(given, err, http.StatusNotImplemented)
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func expect(holds bool, what string) {
	if !holds {
		panic("expected: " + what)
	}
}

func some[Value any](value Value) *Value { return &value }

func eventually[Value any](what string, look func() (Value, bool)) Value {
	for deadline := time.Now().Add(15 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if found, ok := look(); ok {
			return found
		}
	}
	panic("still not so: " + what)
}

var (
	ctx     = context.Background()
	client  = newClient(os.Getenv("SVC_KEY"))
	browser = newClient(os.Getenv("SVC_PUBLISHABLE_KEY"))
	planId  = uuid.MustParse(os.Getenv("SVC_PLAN_ID"))
	serial  = time.Now().UnixNano() % 1_000_000_000
)

func newClient(key string) *api.ClientWithResponses {
	headers := func(_ context.Context, request *http.Request) error {
		request.Header.Set("Authorization", "Bearer "+key)
		request.Header.Set("SVC-Version", string(api.ApiVersionN20260211))
		return nil
	}
	made, err := api.NewClientWithResponses(os.Getenv("SVC_URL"), api.WithRequestEditorFn(headers))
	must(err)
	return made
}

func next() int64 { serial++; return serial }

func newCustomer() api.Customer {
	number := next()
	return *created(client.CreateCustomerWithResponse(ctx, nil, api.CustomerCreate{
		Email:     types.Email(fmt.Sprintf("ada.%d@example.com", number)),
		FirstName: "Ada",
		LastName:  "Lovelace",
		Phone:     fmt.Sprintf("+1555%09d", number),
		Metadata:  &api.Metadata{"level": 1},
		Tags:      &[]string{"vip"},
	})).JSON201
}

func card(number string) api.CardInput {
	return api.CardInput{Number: number, ExpMonth: "12", ExpYear: "2036", Cvc: "999"}
}

func newCard(customer types.UUID, number string) api.PaymentMethod {
	return *created(client.CaptureCardWithResponse(ctx, nil, api.CardCapture{CustomerId: customer, Card: card(number)})).JSON201
}

func newProduct() api.Product {
	return *created(client.CreateProductWithResponse(ctx, &api.CreateProductParams{XSVCIdempotencyKey: uuid.NewString()},
		api.ProductCreate{
			Name:             "Tea pot",
			Description:      some("Holds six cups."),
			Pricing:          api.PricingInput{Amount: 4900, Currency: "usd"},
			RequiresShipping: true,
			Sku:              fmt.Sprintf("tea-pot-%d", next()),
		})).JSON201
}

func newOrder(number string) api.Order { return orderWith(number, "automatic") }

func orderWith(number string, capture api.CaptureMode) api.Order {
	customer := newCustomer()
	newCard(customer.Id, number)
	return *created(client.CreateOrderWithResponse(ctx, &api.CreateOrderParams{XSVCIdempotencyKey: uuid.NewString()},
		api.OrderCreate{
			CustomerId: customer.Id,
			Items:      []api.OrderItemInput{{ProductId: newProduct().Id, Quantity: 2}},
			Capture:    some(capture),
		})).JSON201
}

func customers() {
	customer := newCustomer()
	changed := done(client.UpdateCustomerWithResponse(ctx, customer.Id, nil, api.CustomerUpdate{FirstName: some("Grace")})).JSON200
	expect(changed.FirstName == "Grace" && changed.Company == nil, "the new name")
	created(client.CreateCustomerCreditWithResponse(ctx, customer.Id, &api.CreateCustomerCreditParams{XSVCIdempotencyKey: uuid.NewString()}, api.CreditCreate{
		Type: api.CreditChangeGrant, Amount: 500, Currency: "usd", Reason: "Late delivery",
	}))
	expect(done(client.GetCustomerCreditWithResponse(ctx, customer.Id, nil)).JSON200.Entries[0].Balance == 500, "the credit")
	shown := done(client.GetCustomerWithResponse(ctx, customer.Id, &api.GetCustomerParams{
		Expand: &[]api.GetCustomerParamsExpand{api.GetCustomerParamsExpandPaymentMethods},
	})).JSON200
	expect(shown.PaymentMethods != nil && len(*shown.PaymentMethods) == 0, "no cards yet")
	// Without `sort`: an optional enum that has no type cannot be left out.
	listed := done(client.ListCustomersWithResponse(ctx, &api.ListCustomersParams{Email: some(string(customer.Email))})).JSON200
	expect(len(listed.Data) == 1 && listed.Data[0].Id == customer.Id, "the customer in the list")
	expect(bool(done(client.DeleteCustomerWithResponse(ctx, customer.Id, nil)).JSON200.Deleted), "the customer is deleted")
}

func paymentMethods() {
	customer := newCustomer()
	token := created(browser.CreateCardTokenWithResponse(ctx, nil, api.CardTokenCreate{Card: card("4242424242424242")})).JSON201
	expect(token.Card.Brand == api.CardBrandVisa, "a brand")
	first := created(client.AttachPaymentMethodWithResponse(ctx, customer.Id, nil, api.PaymentMethodAttach{CardToken: token.Id})).JSON201
	second := newCard(customer.Id, "5555555555554444")
	expect(len(done(client.ListPaymentMethodsWithResponse(ctx, customer.Id, nil)).JSON200.Data) == 2, "two cards")
	expect(done(client.GetPaymentMethodWithResponse(ctx, customer.Id, first.Id, nil)).JSON200.IsDefault, "the first is the default")
	moved := done(client.UpdatePaymentMethodWithResponse(ctx, customer.Id, second.Id, nil, api.PaymentMethodUpdate{SetAsDefault: some(true)})).JSON200
	expect(moved.IsDefault, "the second is the default now")
	done(client.DeletePaymentMethodWithResponse(ctx, customer.Id, second.Id, nil, api.PaymentMethodDelete{ReplacementPaymentMethodId: &first.Id}))
}

func upload(product types.UUID) api.ProductImage {
	pixel, err := base64.StdEncoding.DecodeString("R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7")
	must(err)
	var form bytes.Buffer
	writer := multipart.NewWriter(&form)
	part, err := writer.CreateFormFile("file", "pixel.gif")
	must(err)
	_, err = part.Write(pixel)
	must(err)
	must(writer.Close())
	return *created(client.UploadProductImageWithBodyWithResponse(ctx, product, nil, writer.FormDataContentType(), &form)).JSON201
}

func products() {
	product := newProduct()
	key := &api.UpdateProductParams{XSVCIdempotencyKey: uuid.NewString()}
	changed := done(client.UpdateProductWithResponse(ctx, product.Id, key, api.ProductUpdate{Pricing: &api.PricingUpdate{Amount: some(5100)}})).JSON200
	expect(changed.Pricing.Amount == 5100 && changed.Availability == api.InStock, "the new price")
	first, second := upload(product.Id), upload(product.Id)
	order := done(client.ReorderProductImagesWithResponse(ctx, product.Id, nil, api.ProductImagesReorder{ImageIds: []types.UUID{second.Id, first.Id}})).JSON200
	expect(order.Data[0].Id == second.Id, "the second image is first")
	done(client.DeleteProductImageWithResponse(ctx, product.Id, first.Id, nil))
	shown := done(client.GetProductWithResponse(ctx, product.Id, &api.GetProductParams{Expand: &[]api.GetProductParamsExpand{api.GetProductParamsExpandImages}})).JSON200
	expect(len(*shown.Images) == 1 && strings.HasPrefix((*shown.Images)[0].Url, "http"), "one image")
	listed := done(client.ListProductsWithResponse(ctx, &api.ListProductsParams{
		Sort:           some(api.ListProductsParamsSortMinusUpdatedAt),
		FieldsProducts: &[]api.ProductField{api.ProductFieldSku},
	})).JSON200
	expect(len(listed.Data) > 0 && listed.Data[0].Sku == product.Sku, "the changed product first")
	done(client.DeleteProductWithResponse(ctx, product.Id, nil))
}

func orders() {
	order := newOrder("4242424242424242")
	expect(order.Status == api.OrderStatusSucceeded && order.Total == 9800, "a charge")
	part := done(client.RefundOrderWithResponse(ctx, order.Id, nil, api.OrderRefund{Amount: some(int64(800))})).JSON200
	expect(part.Status == api.OrderStatusPartiallyRefunded, "a refund of a part")
	done(client.RefundOrderWithResponse(ctx, order.Id, nil, api.OrderRefund{}))
	shown := done(client.GetOrderWithResponse(ctx, order.Id, &api.GetOrderParams{Expand: &[]api.GetOrderParamsExpand{api.GetOrderParamsExpandCustomer}})).JSON200
	expect(shown.Customer.Id == order.CustomerId && shown.RefundedAmount == 9800, "the rest")
	listed := done(client.ListOrdersWithResponse(ctx, &api.ListOrdersParams{
		CustomerId: &order.CustomerId,
		Status:     &[]api.OrderStatus{api.OrderStatusRefunded, api.OrderStatusFailed},
		TotalGte:   some(int64(1)),
	})).JSON200
	expect(len(listed.Data) == 1, "one order of the customer")
	refunds := done(client.ListTransactionsWithResponse(ctx, &api.ListTransactionsParams{
		OrderId: &order.Id, Type: &[]api.TransactionType{api.TransactionTypeRefund},
	})).JSON200
	expect(len(refunds.Data) == 2, "two refunds")
	expect(done(client.GetTransactionWithResponse(ctx, refunds.Data[0].Id, nil)).JSON200.Type == api.TransactionTypeRefund, "a refund")

	declined := newOrder("4000009999003220")
	expect(declined.Status == api.OrderStatusFailed && *declined.FailureCode == api.FailureCodeDoNotHonor, "a decline")
	expect(done(client.RetryOrderWithResponse(ctx, declined.Id, nil)).JSON200.Status == api.OrderStatusSucceeded, "a retry")

	held := orderWith("4242424242424242", "manual")
	captured := done(client.CaptureOrderWithResponse(ctx, held.Id, nil, api.OrderCapture{Amount: some(int64(4900))})).JSON200
	expect(captured.CapturedAmount == 4900, "a capture of a part")
	released := done(client.VoidOrderWithResponse(ctx, orderWith("4242424242424242", "manual").Id, nil)).JSON200
	expect(released.Status == api.OrderStatusVoided, "funds that are released")

	disputed := newOrder("4242424242424242")
	done(client.RaiseChargebackWithResponse(ctx, disputed.Id, nil))
	resolved := done(client.ResolveChargebackWithResponse(ctx, disputed.Id, nil, api.ChargebackResolve{Outcome: api.Dismissed})).JSON200
	expect(resolved.Status == api.OrderStatusChargebackDismissed, "a dispute that is won")

	missing, err := client.GetOrderWithResponse(ctx, uuid.New(), nil)
	must(err)
	expect(missing.JSON404.Error.Code == api.ErrorCodeResourceNotFound, "an error with its code")
}

func coupons() {
	coupon := created(client.CreateCouponWithResponse(ctx, &api.CreateCouponParams{XSVCIdempotencyKey: uuid.NewString()},
		api.CouponCreate{Name: "Tea week", Percentage: some(12.5), Codes: &api.CodeBatch{Count: 1}})).JSON201
	ask := func(code string) *api.CouponVerdict {
		return done(client.ValidateCouponWithResponse(ctx, nil, api.CouponValidate{Code: code, Amount: some(int64(1000)), Currency: some("usd")})).JSON200
	}
	valid, err := ask(coupon.Codes[0].Code).AsValidCoupon()
	must(err)
	expect(bool(valid.Valid) && valid.TotalAfterDiscount == 875, "a discount")
	invalid, err := ask("is-not-there").AsInvalidCoupon()
	must(err)
	expect(invalid.Reason == api.CodeNotFound, "a reason")
	created(client.MintCouponCodesWithResponse(ctx, coupon.Id, nil, api.CodeBatch{Count: 2}))
	expect(len(done(client.ListCouponCodesWithResponse(ctx, coupon.Id, nil)).JSON200.Data) == 3, "three codes")
	done(client.UpdateCouponWithResponse(ctx, coupon.Id, nil, api.CouponUpdate{Description: some("All teas")}))
	expect(done(client.ArchiveCouponWithResponse(ctx, coupon.Id, nil, api.CouponArchive{Archived: true})).JSON200.ArchivedAt != nil, "it is archived")
	expect(!done(client.DeleteCouponWithResponse(ctx, coupon.Id, nil)).JSON200.Active, "it is inactive")
	done(client.GetCouponWithResponse(ctx, coupon.Id, nil))
	listed := done(client.ListCouponsWithResponse(ctx, &api.ListCouponsParams{Archived: some(api.ListCouponsParamsArchivedTrue)})).JSON200
	expect(len(listed.Data) == 1, "the archived coupon")
}

func pages() {
	order := newOrder("4242424242424242")
	expect(done(client.GetOrderReceiptWithResponse(ctx, order.Id, nil)).JSON200.Url != "", "a receipt")
	invoice := done(client.ListInvoicesWithResponse(ctx, nil)).JSON200.Data[0]
	expect(done(client.GetInvoiceWithResponse(ctx, invoice.Id, nil)).JSON200.Number == invoice.Number, "the invoice")
	expect(done(client.GetInvoicePdfWithResponse(ctx, invoice.Id, nil)).JSON200.Url != "", "a PDF")
	expect(done(client.GetInvoiceXmlWithResponse(ctx, invoice.Id, nil)).JSON200.Url != "", "an e-invoice")
	correction := api.InvoiceCorrectionCreate{Reason: "The company was missing", Name: some("Grace Hopper")}
	expect(created(client.CreateInvoiceCorrectionWithResponse(ctx, invoice.Id, nil, correction)).JSON201.Amount == invoice.Amount, "a correction")
	expect(done(client.GetInvoiceMonthWithResponse(ctx, nil)).JSON200.Url != "", "a month of invoices")
	items := []api.CheckoutItemInput{{ProductId: newProduct().Id, Quantity: 1}}
	session := created(client.CreateCheckoutSessionWithResponse(ctx, nil, api.CheckoutSessionCreate{Mode: api.CheckoutModePayment, Items: &items})).JSON201
	expect(*done(client.GetCheckoutSessionWithResponse(ctx, session.Id, nil)).JSON200.Url == *session.Url, "the same page")
	expect(done(client.ExpireCheckoutSessionWithResponse(ctx, session.Id, nil)).JSON200.Status == api.CheckoutSessionStatusExpired, "it expired")
	expect(len(done(client.ListCheckoutSessionsWithResponse(ctx, nil)).JSON200.Data) == 1, "one session")
	sold := []api.PaymentLinkItemInput{{ProductId: some(newProduct().Id), Quantity: 1}}
	link := created(client.CreatePaymentLinkWithResponse(ctx, nil, api.PaymentLinkCreate{Name: "Tea", Mode: api.CheckoutModePayment, Items: &sold})).JSON201
	expect(!done(client.UpdatePaymentLinkWithResponse(ctx, link.Id, nil, api.PaymentLinkUpdate{Active: some(false)})).JSON200.Active, "it is inactive")
	expect(done(client.GetPaymentLinkWithResponse(ctx, link.Id, nil)).JSON200.Url == link.Url, "the same link")
	expect(len(done(client.ListPaymentLinksWithResponse(ctx, nil)).JSON200.Data) == 1, "one link")
	opened := created(client.CreateCustomerSessionWithResponse(ctx, nil, api.CustomerSessionCreate{CustomerId: order.CustomerId})).JSON201
	done(client.GetCustomerSessionWithResponse(ctx, opened.Id, nil))
	done(client.DeleteCustomerSessionWithResponse(ctx, opened.Id, nil))
	done(client.DeleteCustomerSessionsWithResponse(ctx, order.CustomerId, nil))
}

func subscriptions() {
	expect(len(done(client.ListPlansWithResponse(ctx, &api.ListPlansParams{Active: some(true)})).JSON200.Data) > 0, "a plan")
	plan := done(client.GetPlanWithResponse(ctx, planId, nil)).JSON200
	customer := newCustomer()
	newCard(customer.Id, "4242424242424242")
	subscription := created(client.CreateSubscriptionWithResponse(ctx, nil, api.SubscriptionCreate{CustomerId: customer.Id, PlanId: planId})).JSON201
	expect(subscription.Status == api.SubscriptionStatusActive, "a subscription")
	summary, err := subscription.Plan.AsPlanSummary()
	must(err)
	expect(summary.Amount == plan.Amount, "the amount of the plan")
	expect(len(done(client.ListUpcomingBillsWithResponse(ctx, subscription.Id, &api.ListUpcomingBillsParams{Count: some(3)})).JSON200.Data) == 3, "three bills")
	done(client.GetClockWithResponse(ctx, nil))
	advanced := done(client.AdvanceClockWithResponse(ctx, nil, api.ClockAdvance{By: &api.ClockStep{Days: some(32)}})).JSON200
	expect(len(advanced.Happened) > 0, "a renewal")
	expect(done(client.GetSubscriptionWithResponse(ctx, subscription.Id, nil)).JSON200.CompletedCycles == 2, "two cycles")
	listed := done(client.ListSubscriptionsWithResponse(ctx, &api.ListSubscriptionsParams{CustomerId: &customer.Id})).JSON200
	expect(len(listed.Data) == 1, "one subscription of the customer")
	done(client.UpdateSubscriptionWithResponse(ctx, subscription.Id, nil, api.SubscriptionUpdate{Description: some("For the office")}))
	twoSeats := api.PlanChangeRequest{PlanId: planId, Quantity: some(2), When: api.PlanChangeTimeRenewal}
	expect(done(client.PreviewPlanChangeWithResponse(ctx, subscription.Id, nil, twoSeats)).JSON200.AmountDue == 0, "nothing is due now")
	changed := created(client.ChangePlanWithResponse(ctx, subscription.Id, nil, twoSeats)).JSON201
	expect(changed.Status == api.Scheduled, "a scheduled change")
	expect(done(client.UndoPlanChangeWithResponse(ctx, subscription.Id, nil)).JSON200.ScheduledChange == nil, "no scheduled change")
	item := api.RenewalItemCreate{ProductId: newProduct().Id, Quantity: some(2)}
	added := created(client.AddRenewalItemWithResponse(ctx, subscription.Id, nil, item)).JSON201.RenewalItems
	without := done(client.RemoveRenewalItemWithResponse(ctx, subscription.Id, added[0].Id, nil)).JSON200
	expect(len(without.RenewalItems) == 0, "no product on the renewal")
	paused := refused(client.PauseSubscriptionWithResponse(ctx, subscription.Id, nil))
	expect(paused.JSON501.Error.Code == api.ErrorCodeNotImplemented, "no pause")
	refused(client.ResumeSubscriptionWithResponse(ctx, subscription.Id, nil))
	expect(done(client.CancelSubscriptionWithResponse(ctx, subscription.Id, nil)).JSON200.Status == api.CanceledSubscriptionStatusCanceled, "it is canceled")
}

func events() {
	start := done(client.ReadEventFeedWithResponse(ctx, nil)).JSON200
	triggered := done(client.TriggerEventWithResponse(ctx, nil, api.EventTrigger{Type: api.EventTypeOrderFailed})).JSON200
	failed, err := triggered.AsOrderFailedEvent()
	must(err)
	expect(failed.Data.Object.Status == api.OrderStatusFailed, "an event with its order")
	kind, err := triggered.ValueByDiscriminator()
	must(err)
	_, typed := kind.(api.OrderFailedEvent)
	expect(typed, "the type of the event tells its payload")
	fed := done(client.ReadEventFeedWithResponse(ctx, &api.ReadEventFeedParams{Cursor: &start.Cursor})).JSON200
	expect(len(fed.Data) > 0, "the event in the feed")
	done(client.GetEventWithResponse(ctx, failed.Id, nil))
	listed := done(client.ListEventsWithResponse(ctx, &api.ListEventsParams{Type: &[]api.EventType{api.EventTypeOrderFailed}, ObjectId: &failed.Data.Object.Id})).JSON200
	expect(len(listed.Data) == 1, "the event in the list")
}

func requests() {
	logged := eventually("a request is logged", func() (api.LoggedRequest, bool) {
		listed := done(client.ListRequestsWithResponse(ctx, &api.ListRequestsParams{Path: some("/v1/customers"), Method: some(api.GET)})).JSON200
		return append(listed.Data, api.LoggedRequest{})[0], len(listed.Data) > 0
	})
	expect(done(client.GetRequestWithResponse(ctx, logged.RequestId, nil)).JSON200.Actor.Kind == api.Key, "who asked")
}

func webhooks() {
	endpoint := created(client.CreateWebhookEndpointWithResponse(ctx, nil, api.WebhookEndpointCreate{
		Url: os.Getenv("SVC_RECEIVER_URL"), EnabledEvents: []api.EventPattern{api.EventPatternCustomer},
	})).JSON201
	expect(strings.HasPrefix(endpoint.SigningSecret, "whsec_"), "a secret")
	newCustomer()
	delivery := eventually("the event is delivered", func() (api.WebhookDelivery, bool) {
		listed := done(client.ListWebhookEndpointEventsWithResponse(ctx, endpoint.Id, &api.ListWebhookEndpointEventsParams{
			DeliveryStatus: some(api.ListWebhookEndpointEventsParamsDeliveryStatusDelivered),
		})).JSON200
		return append(listed.Data, api.WebhookDelivery{})[0], len(listed.Data) > 0
	})
	logs := done(client.ListWebhookEndpointDeliveryLogsWithResponse(ctx, endpoint.Id, nil)).JSON200
	expect(logs.Data[0].Status == api.AttemptStatusSuccess, "a successful attempt")
	done(client.ReplayWebhookEndpointEventWithResponse(ctx, endpoint.Id, delivery.Id, nil, api.WebhookReplay{Force: some(true)}))
	tested := done(client.TestWebhookEndpointWithResponse(ctx, endpoint.Id, nil, api.WebhookEndpointTest{EventType: some(api.EventTypeOrderSucceeded)})).JSON200
	expect(*tested.HttpStatus == 200, "a test event")
	done(client.DowngradeWebhookEndpointVersionWithResponse(ctx, endpoint.Id, nil, api.WebhookVersionMove{ApiVersion: api.EventVersionN20251104}))
	done(client.UpgradeWebhookEndpointVersionWithResponse(ctx, endpoint.Id, nil, api.WebhookVersionMove{ApiVersion: api.EventVersionN20260211, DryRun: some(true)}))
	done(client.RotateWebhookEndpointSecretWithResponse(ctx, endpoint.Id, nil, api.WebhookSecretRotate{}))
	done(client.GetWebhookEndpointWithResponse(ctx, endpoint.Id, nil))
	changed := done(client.UpdateWebhookEndpointWithResponse(ctx, endpoint.Id, nil, api.WebhookEndpointUpdate{Status: some(api.Disabled)})).JSON200
	expect(changed.Status == api.Disabled, "a disabled endpoint")
	expect(len(done(client.ListWebhookEndpointsWithResponse(ctx, nil)).JSON200.Data) == 1, "one endpoint")
	done(client.DeleteWebhookEndpointWithResponse(ctx, endpoint.Id, nil))
}

func team() {
	roles := done(client.ListRolesWithResponse(ctx, &api.ListRolesParams{Expand: &[]api.ListRolesParamsExpand{api.Permissions}})).JSON200
	role := roles.Data[0]
	for _, one := range roles.Data {
		if one.Name == "Support" {
			role = one
		}
	}
	created(client.CreateTeamMemberWithResponse(ctx, nil, api.TeamMemberCreate{
		FirstName: "Alan", LastName: "Turing", Email: types.Email(fmt.Sprintf("alan.%d@example.com", next())),
		PhoneNumber: "+15551234567", RoleId: role.Id,
	}))
	listed := done(client.ListTeamMembersWithResponse(ctx, &api.ListTeamMembersParams{Status: &[]api.TeamMemberStatus{api.TeamMemberStatusPending}})).JSON200
	expect(len(listed.Data) > 0, "a pending member")
}

func main() {
	customers()
	paymentMethods()
	products()
	orders()
	coupons()
	pages()
	subscriptions()
	events()
	requests()
	webhooks()
	team()
}
