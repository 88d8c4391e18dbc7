import base64
import os

from svc_payments import InvalidRequestError, Svc, webhooks

svc = Svc(os.environ["SVC_KEY"], base_url=os.environ["SVC_URL"])
customer = svc.customers.create(
    email=os.environ["EMAIL"], first_name="Ada", last_name="Lovelace", phone=os.environ["PHONE"]
)
found = svc.customers.list(email=customer.email).to_list(limit=2)
try:
    svc.orders.get("019c4c21-4a00-7e11-9b2c-6d5e4f3a2b1c")
except InvalidRequestError as error:
    code = error.code
event = svc.sandbox.events.trigger(type="order.succeeded")
secret = "whsec_" + base64.b64encode(bytes([7] * 32)).decode()
delivery = webhooks.sign_test_event(event, secret)
verified = webhooks.verify(delivery.body, delivery.headers, secret)
print(len(found), code, verified.type)
