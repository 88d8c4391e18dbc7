"""Calls every operation of a running service with the client that openapi-python-client makes from its document."""

import base64
import importlib
import os
import time
import uuid
from io import BytesIO

from client import AuthenticatedClient, models
from client.types import File

VERSION = models.ApiVersion.VALUE_0


def new_client(key: str) -> AuthenticatedClient:
    return AuthenticatedClient(base_url=os.environ["SVC_URL"], token=key, headers={"SVC-Version": VERSION})


secret = new_client(os.environ["SVC_KEY"])
browser = new_client(os.environ["SVC_PUBLISHABLE_KEY"])
plan_id = uuid.UUID(os.environ["SVC_PLAN_ID"])
serial = time.time_ns() % 1_000_000_000


def number() -> int:
    global serial
    serial += 1
    return serial


def call(name: str, /, *ids, expected: int = 200, client: AuthenticatedClient = secret, **parameters):
    """`call("orders.get_order", id)`: the parsed answer, after a look at its status."""
    operation = importlib.import_module(f"client.api.{name}")
    answer = operation.sync_detailed(*ids, client=client, **parameters)
    assert answer.status_code == expected, f"{name}: {answer.status_code} {answer.content!r}"
    assert answer.parsed is not None, f"{name}: {answer.content!r} was not understood"
    return answer.parsed


def eventually(what: str, look):
    deadline = time.monotonic() + 15
    while time.monotonic() < deadline:
        found = look()
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError(f"still not so: {what}")


def new_customer() -> models.Customer:
    body = models.CustomerCreate(
        email=f"ada.{number()}@example.com",
        first_name="Ada",
        last_name="Lovelace",
        phone=f"+1555{number():09d}",
        tags=["vip"],
        metadata=models.Metadata.from_dict({"level": 1}),
    )
    return call("customers.create_customer", expected=201, body=body)


def card(digits: str) -> models.CardInput:
    return models.CardInput(number=digits, exp_month="12", exp_year="2036", cvc="999")


def new_card(customer: models.Customer, digits: str = "4242424242424242") -> models.PaymentMethod:
    body = models.CardCapture(customer_id=customer.id, card=card(digits))
    return call("payment_methods.capture_card", expected=201, body=body)


def new_product() -> models.Product:
    body = models.ProductCreate(
        name="Tea pot",
        description="Holds six cups.",
        pricing=models.PricingInput(amount=4900, currency="usd"),
        requires_shipping=True,
        sku=f"tea-pot-{number()}",
    )
    return call("products.create_product", expected=201, body=body, x_svc_idempotency_key=str(uuid.uuid4()))


def new_order(
    digits: str = "4242424242424242", capture: models.CaptureMode = models.CaptureMode.AUTOMATIC
) -> models.Order:
    customer = new_customer()
    new_card(customer, digits)
    items = [models.OrderItemInput(product_id=new_product().id, quantity=2)]
    body = models.OrderCreate(customer_id=customer.id, items=items, capture=capture)
    return call("orders.create_order", expected=201, body=body, x_svc_idempotency_key=str(uuid.uuid4()))


def customers() -> None:
    customer = new_customer()
    changed = call("customers.update_customer", customer.id, body=models.CustomerUpdate(first_name="Grace"))
    assert changed.first_name == "Grace" and changed.company is None
    expand = [models.GetCustomerExpandItem.PAYMENT_METHODS]
    assert call("customers.get_customer", customer.id, expand=expand).payment_methods == []
    grant = models.CreditCreate(type_=models.CreditChange.GRANT, amount=500, currency="usd", reason="Late delivery")
    key = str(uuid.uuid4())
    call("customers.create_customer_credit", customer.id, expected=201, body=grant, x_svc_idempotency_key=key)
    assert call("customers.get_customer_credit", customer.id).entries[0].balance == 500
    listed = call("customers.list_customers", email=customer.email)
    assert [one.id for one in listed.data] == [customer.id]
    assert call("customers.delete_customer", customer.id).deleted is True


def payment_methods() -> None:
    customer = new_customer()
    body = models.CardTokenCreate(card=card("4242424242424242"))
    token = call("payment_methods.create_card_token", expected=201, client=browser, body=body)
    assert token.card.brand is models.CardBrand.VISA
    attach = models.PaymentMethodAttach(card_token=token.id)
    first = call("payment_methods.attach_payment_method", customer.id, expected=201, body=attach)
    second = new_card(customer, "5555555555554444")
    assert len(call("payment_methods.list_payment_methods", customer.id).data) == 2
    assert call("payment_methods.get_payment_method", customer.id, first.id).is_default
    update = models.PaymentMethodUpdate(set_as_default=True)
    assert call("payment_methods.update_payment_method", customer.id, second.id, body=update).is_default
    replace = models.PaymentMethodDelete(replacement_payment_method_id=first.id)
    call("payment_methods.delete_payment_method", customer.id, second.id, body=replace)


def upload(product: models.Product) -> models.ProductImage:
    pixel = base64.b64decode("R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7")
    file = File(payload=BytesIO(pixel), file_name="pixel.gif", mime_type="image/gif")
    return call(
        "products.upload_product_image", product.id, expected=201, body=models.UploadProductImageBody(file=file)
    )


def products() -> None:
    product = new_product()
    update = models.ProductUpdate(pricing=models.PricingUpdate(amount=5100))
    changed = call("products.update_product", product.id, body=update, x_svc_idempotency_key=str(uuid.uuid4()))
    assert changed.pricing.amount == 5100 and changed.availability is models.ProductAvailability.IN_STOCK
    first, second = upload(product), upload(product)
    order = models.ProductImagesReorder(image_ids=[second.id, first.id])
    assert call("products.reorder_product_images", product.id, body=order).data[0].id == second.id
    call("products.delete_product_image", product.id, first.id)
    shown = call("products.get_product", product.id, expand=[models.GetProductExpandItem.IMAGES])
    assert [one.id for one in shown.images] == [second.id] and shown.images[0].url.startswith("http")
    listed = call("products.list_products", sort=models.ListProductsSort.UPDATED_ATDESC)
    assert listed.data[0].id == product.id
    call("products.delete_product", product.id)


def orders() -> None:
    order = new_order()
    assert order.status is models.OrderStatus.SUCCEEDED and order.total == 9800
    part = call("orders.refund_order", order.id, body=models.OrderRefund(amount=800))
    assert part.status is models.OrderStatus.PARTIALLY_REFUNDED
    call("orders.refund_order", order.id, body=models.OrderRefund())
    shown = call("orders.get_order", order.id, expand=[models.GetOrderExpandItem.CUSTOMER])
    assert shown.customer.id == order.customer_id and shown.refunded_amount == 9800
    status = [models.OrderStatus.REFUNDED, models.OrderStatus.FAILED]
    listed = call("orders.list_orders", customer_id=order.customer_id, status=status, totalgte=1)
    assert len(listed.data) == 1
    refunds = call("transactions.list_transactions", order_id=order.id, type_=[models.TransactionType.REFUND])
    assert len(refunds.data) == 2
    assert call("transactions.get_transaction", refunds.data[0].id).type_ is models.TransactionType.REFUND

    declined = new_order("4000009999003220")
    assert declined.failure_code is models.FailureCode.DO_NOT_HONOR
    assert call("orders.retry_order", declined.id).status is models.OrderStatus.SUCCEEDED

    held = new_order(capture=models.CaptureMode.MANUAL)
    assert call("orders.capture_order", held.id, body=models.OrderCapture(amount=4900)).captured_amount == 4900
    released = new_order(capture=models.CaptureMode.MANUAL)
    assert call("orders.void_order", released.id).status is models.OrderStatus.VOIDED

    disputed = new_order()
    call("sandbox.raise_chargeback", disputed.id)
    outcome = models.ChargebackResolve(outcome=models.ChargebackOutcome.DISMISSED)
    resolved = call("sandbox.resolve_chargeback", disputed.id, body=outcome)
    assert resolved.status is models.OrderStatus.CHARGEBACK_DISMISSED

    missing = call("orders.get_order", uuid.uuid4(), expected=404)
    assert missing.error.code is models.ErrorCode.RESOURCE_NOT_FOUND


def coupons() -> None:
    body = models.CouponCreate(name="Tea week", percentage=12.5, codes=models.CodeBatch(count=1))
    coupon = call("coupons.create_coupon", expected=201, body=body, x_svc_idempotency_key=str(uuid.uuid4()))

    def ask(code: str):
        return call("coupons.validate_coupon", body=models.CouponValidate(code=code, amount=1000, currency="usd"))

    verdict = ask(coupon.codes[0].code)
    assert isinstance(verdict, models.ValidCoupon) and verdict.total_after_discount == 875
    refusal = ask("is-not-there")
    assert isinstance(refusal, models.InvalidCoupon) and refusal.reason is models.CouponReason.CODE_NOT_FOUND
    call("coupons.mint_coupon_codes", coupon.id, expected=201, body=models.CodeBatch(count=2))
    assert len(call("coupons.list_coupon_codes", coupon.id).data) == 3
    call("coupons.update_coupon", coupon.id, body=models.CouponUpdate(description="All teas"))
    assert call("coupons.archive_coupon", coupon.id, body=models.CouponArchive(archived=True)).archived_at is not None
    assert call("coupons.delete_coupon", coupon.id).active is False
    assert call("coupons.get_coupon", coupon.id).id == coupon.id
    assert len(call("coupons.list_coupons", archived=models.ListCouponsArchived.TRUE).data) == 1


def pages() -> None:
    order = new_order()
    assert call("orders.get_order_receipt", order.id).url
    invoice = call("invoices.list_invoices", kind=[models.InvoiceKind.INVOICE]).data[0]
    assert call("invoices.get_invoice", invoice.id).number == invoice.number
    assert call("invoices.get_invoice_pdf", invoice.id).url
    assert call("invoices.get_invoice_xml", invoice.id).url
    correction = models.InvoiceCorrectionCreate(reason="The company was missing", company="Hopper GmbH")
    assert call("invoices.create_invoice_correction", invoice.id, expected=201, body=correction).invoice_id
    assert call("invoices.get_invoice_month").url
    items = [models.CheckoutItemInput(product_id=new_product().id, quantity=1)]
    body = models.CheckoutSessionCreate(mode=models.CheckoutMode.PAYMENT, items=items)
    session = call("checkout.create_checkout_session", expected=201, body=body)
    assert call("checkout.get_checkout_session", session.id).url == session.url
    expired = call("checkout.expire_checkout_session", session.id)
    assert expired.status is models.CheckoutSessionStatus.EXPIRED
    assert len(call("checkout.list_checkout_sessions").data) == 1
    body = models.PaymentLinkCreate(name="Tea", mode=models.CheckoutMode.PAYMENT, items=items)
    link = call("checkout.create_payment_link", expected=201, body=body)
    assert call("checkout.update_payment_link", link.id, body=models.PaymentLinkUpdate(active=False)).active is False
    assert call("checkout.get_payment_link", link.id).url == link.url
    assert len(call("checkout.list_payment_links").data) == 1
    body = models.CustomerSessionCreate(customer_id=order.customer_id)
    opened = call("customer_page.create_customer_session", expected=201, body=body)
    call("customer_page.get_customer_session", opened.id)
    call("customer_page.delete_customer_session", opened.id)
    call("customer_page.delete_customer_sessions", order.customer_id)


def subscriptions() -> None:
    assert call("plans.list_plans", active=True).data
    plan = call("plans.get_plan", plan_id)
    customer = new_customer()
    new_card(customer)
    body = models.SubscriptionCreate(customer_id=customer.id, plan_id=plan_id)
    subscription = call("subscriptions.create_subscription", expected=201, body=body)
    assert subscription.status is models.SubscriptionStatus.ACTIVE and subscription.plan.amount == plan.amount
    assert len(call("subscriptions.list_upcoming_bills", subscription.id, count=3).data) == 3
    call("sandbox.get_clock")
    step = models.ClockAdvance(by=models.ClockStep(days=32))
    assert call("sandbox.advance_clock", body=step).happened
    assert call("subscriptions.get_subscription", subscription.id).completed_cycles == 2
    assert len(call("subscriptions.list_subscriptions", customer_id=customer.id).data) == 1
    update = models.SubscriptionUpdate(description="For the office")
    call("subscriptions.update_subscription", subscription.id, body=update)
    two_seats = models.PlanChangeRequest(plan_id=plan_id, quantity=2, when=models.PlanChangeTime.RENEWAL)
    assert call("subscriptions.preview_plan_change", subscription.id, body=two_seats).amount_due == 0
    changed = call("subscriptions.change_plan", subscription.id, expected=201, body=two_seats)
    assert changed.status is models.PlanChangeStatus.SCHEDULED
    assert call("subscriptions.undo_plan_change", subscription.id).scheduled_change is None
    item = models.RenewalItemCreate(product_id=new_product().id, quantity=2)
    added = call("subscriptions.add_renewal_item", subscription.id, expected=201, body=item).renewal_items
    assert call("subscriptions.remove_renewal_item", subscription.id, added[0].id).renewal_items == []
    for operation in ("pause", "resume"):
        refusal = call(f"subscriptions.{operation}_subscription", subscription.id, expected=501)
        assert refusal.error.code is models.ErrorCode.NOT_IMPLEMENTED
    assert call("subscriptions.cancel_subscription", subscription.id).status == "canceled"


def events() -> None:
    start = call("events.read_event_feed")
    triggered = call("sandbox.trigger_event", body=models.EventTrigger(type_=models.EventType.ORDER_FAILED))
    assert isinstance(triggered, models.OrderFailedEvent)
    assert triggered.data.object_.status is models.OrderStatus.FAILED
    fed = call("events.read_event_feed", cursor=start.cursor)
    assert triggered.id in [one.id for one in fed.data]
    assert call("events.get_event", triggered.id) == triggered
    listed = call("events.list_events", type_=[models.EventType.ORDER_FAILED], object_id=triggered.data.object_.id)
    assert listed.data == [triggered]
    # Every kind of event that has happened so far has a class of its own.
    assert len({type(one) for one in call("events.list_events", limit=100).data}) > 5


def requests() -> None:
    method = models.ListRequestsMethod.GET

    def look():
        return call("requests.list_requests", path="/v1/customers", method=method).data

    logged = eventually("a request is logged", look)[0]
    assert call("requests.get_request", logged.request_id).actor.kind is models.ActorKind.KEY


def webhook_endpoints() -> None:
    at = "webhook_endpoints"
    body = models.WebhookEndpointCreate(
        url=os.environ["SVC_RECEIVER_URL"], enabled_events=[models.EventPattern.CUSTOMER]
    )
    endpoint = call(f"{at}.create_webhook_endpoint", expected=201, body=body)
    assert endpoint.signing_secret.startswith("whsec_")
    new_customer()
    delivered = models.ListWebhookEndpointEventsDeliveryStatus.DELIVERED

    def look():
        return call(f"{at}.list_webhook_endpoint_events", endpoint.id, delivery_status=delivered).data

    event = eventually("the event is delivered", look)[0]
    logs = call(f"{at}.list_webhook_endpoint_delivery_logs", endpoint.id)
    assert logs.data[0].status is models.AttemptStatus.SUCCESS
    call(f"{at}.replay_webhook_endpoint_event", endpoint.id, event.id, body=models.WebhookReplay(force=True))
    test = models.WebhookEndpointTest(event_type=models.EventType.ORDER_SUCCEEDED)
    assert call(f"{at}.test_webhook_endpoint", endpoint.id, body=test).http_status == 200
    older, newer = models.EventVersion.VALUE_1, models.EventVersion.VALUE_0
    call(f"{at}.downgrade_webhook_endpoint_version", endpoint.id, body=models.WebhookVersionMove(api_version=older))
    move = models.WebhookVersionMove(api_version=newer, dry_run=True)
    call(f"{at}.upgrade_webhook_endpoint_version", endpoint.id, body=move)
    call(f"{at}.rotate_webhook_endpoint_secret", endpoint.id, body=models.WebhookSecretRotate())
    call(f"{at}.get_webhook_endpoint", endpoint.id)
    disable = models.WebhookEndpointUpdate(status=models.WebhookEndpointStatus.DISABLED)
    changed = call(f"{at}.update_webhook_endpoint", endpoint.id, body=disable)
    assert changed.status is models.WebhookEndpointStatus.DISABLED
    assert len(call(f"{at}.list_webhook_endpoints").data) == 1
    call(f"{at}.delete_webhook_endpoint", endpoint.id)


def team() -> None:
    roles = call("team.list_roles", expand=[models.ListRolesExpandItem.PERMISSIONS])
    support = next(one for one in roles.data if one.name == "Support")
    body = models.TeamMemberCreate(
        first_name="Alan",
        last_name="Turing",
        email=f"alan.{number()}@example.com",
        phone_number="+15551234567",
        role_id=support.id,
    )
    call("team.create_team_member", expected=201, body=body)
    assert call("team.list_team_members", status=[models.TeamMemberStatus.PENDING]).data


for part in (
    customers,
    payment_methods,
    products,
    orders,
    coupons,
    pages,
    subscriptions,
    events,
    requests,
    webhook_endpoints,
    team,
):
    part()
