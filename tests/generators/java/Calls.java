import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.File;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Parameter;
import java.nio.file.Files;
import java.util.Base64;
import java.util.UUID;
import java.util.function.Supplier;
import org.openapitools.client.ApiClient;
import org.openapitools.client.ApiException;
import org.openapitools.client.api.*;

/**
 * Calls every operation of a running service with the client that openapi-generator makes from its document. Each body and parameter is read into
 * the type that the client declares for it, and each answer is written from the type that it returns.
 */
public class Calls {
  static final ObjectMapper json = ApiClient.createDefaultObjectMapper();
  static final ApiClient svc = clientOf("SVC_KEY");
  static final ApiClient browser = clientOf("SVC_PUBLISHABLE_KEY");
  static final Class<?>[] apis = {
    CheckoutApi.class, CouponsApi.class, CustomerPageApi.class, CustomersApi.class, EventsApi.class, InvoicesApi.class, OrdersApi.class, PaymentMethodsApi.class,
    PlansApi.class, ProductsApi.class, RequestsApi.class, SandboxApi.class, SubscriptionsApi.class, TeamApi.class, TransactionsApi.class,
    WebhookEndpointsApi.class
  };
  static long serial = System.currentTimeMillis() % 1_000_000_000L;

  static ApiClient clientOf(String variable) {
    ApiClient client = new ApiClient();
    client.updateBaseUri(System.getenv("SVC_URL"));
    client.setRequestInterceptor(
        request -> request.header("Authorization", "Bearer " + System.getenv(variable)).header("SVC-Version", "2026-02-11"));
    return client;
  }

  /** The method of an operation without further headers. */
  static Method methodOf(String operation) {
    for (Class<?> api : apis) {
      for (Method method : api.getMethods()) {
        Parameter[] parameters = method.getParameters();
        boolean hasHeaders = parameters.length > 0 && parameters[parameters.length - 1].getName().equals("headers");
        if (method.getName().equals(operation) && !hasHeaders) return method;
      }
    }
    throw new AssertionError("the client has no operation " + operation);
  }

  /** `arguments` has parameters by name; what is no parameter is the body. */
  static Object invoke(ApiClient client, String operation, String arguments) throws ApiException {
    try {
      Method method = methodOf(operation);
      ObjectNode left = (ObjectNode) json.readTree(arguments);
      Parameter[] parameters = method.getParameters();
      Object[] values = new Object[parameters.length];
      Integer body = null;
      for (int index = 0; index < parameters.length; index += 1) {
        Parameter parameter = parameters[index];
        JsonNode given = left.remove(parameter.getName());
        boolean isBody = given == null && isModel(parameter.getType());
        if (isBody) body = index;
        else if (parameter.getName().equals("xSVCIdempotencyKey")) values[index] = UUID.randomUUID().toString();
        else if (parameter.getType() == File.class) values[index] = new File(given.asText());
        else if (given != null) values[index] = json.convertValue(given, json.constructType(parameter.getParameterizedType()));
      }
      if (!left.isEmpty()) {
        if (body == null) throw new AssertionError(operation + " does not take " + left);
        values[body] = json.treeToValue(left, parameters[body].getType());
      }
      Object api = method.getDeclaringClass().getConstructor(ApiClient.class).newInstance(client);
      return method.invoke(api, values);
    } catch (InvocationTargetException error) {
      if (error.getCause() instanceof ApiException) throw (ApiException) error.getCause();
      throw new AssertionError(operation, error.getCause());
    } catch (ReflectiveOperationException | com.fasterxml.jackson.core.JsonProcessingException error) {
      throw new AssertionError(operation, error);
    }
  }

  static boolean isModel(Class<?> type) {
    return type.getPackageName().equals("org.openapitools.client.model") && !type.isEnum();
  }

  static JsonNode call(ApiClient client, String operation, String arguments) {
    try {
      return json.valueToTree(invoke(client, operation, arguments));
    } catch (ApiException refusal) {
      throw new AssertionError(operation + ": " + refusal.getCode() + " " + refusal.getResponseBody());
    }
  }

  static JsonNode call(String operation, String arguments, Object... values) {
    return call(svc, operation, String.format(arguments, values));
  }

  static void refused(String operation, int status, String code, String arguments) {
    try {
      invoke(svc, operation, arguments);
    } catch (ApiException refusal) {
      same(refusal.getCode(), status, operation);
      check(refusal.getResponseBody().contains('"' + code + '"'), operation + ": " + refusal.getResponseBody());
      return;
    }
    throw new AssertionError(operation + " was not refused");
  }

  static void check(boolean holds, String what) {
    if (!holds) throw new AssertionError(what);
  }

  static void same(Object found, Object wanted, String what) {
    check(wanted.equals(found), what + " is " + found + ", not " + wanted);
  }

  static JsonNode eventually(String what, Supplier<JsonNode> look) throws InterruptedException {
    for (long end = System.currentTimeMillis() + 60_000; System.currentTimeMillis() < end; Thread.sleep(100)) {
      JsonNode found = look.get();
      if (found != null) return found;
    }
    throw new AssertionError("still not so: " + what);
  }

  static String id(JsonNode object) {
    return object.get("id").asText();
  }

  static JsonNode newCustomer() {
    serial += 1;
    return call("createCustomer", "{\"email\": \"ada.%1$d@example.com\", \"first_name\": \"Ada\", \"last_name\": \"Lovelace\", \"phone\": \"+1555%1$09d\", \"tags\": [\"vip\"], \"metadata\": {\"level\": 1}}", serial);
  }

  static final String card = "{\"number\": \"%s\", \"exp_month\": \"12\", \"exp_year\": \"2036\", \"cvc\": \"999\"}";

  static JsonNode newCard(String customer, String digits) {
    return call("captureCard", "{\"customer_id\": \"%s\", \"card\": " + card + ", \"set_as_default\": true}", customer, digits);
  }

  static JsonNode newProduct() {
    serial += 1;
    return call("createProduct", "{\"name\": \"Tea pot\", \"description\": \"Holds six cups.\", \"pricing\": {\"amount\": 4900, \"currency\": \"usd\"}, \"requires_shipping\": true, \"sku\": \"tea-pot-%d\"}", serial);
  }

  static JsonNode newOrder(String digits) {
    return newOrder(digits, "automatic");
  }

  static JsonNode newOrder(String digits, String capture) {
    String customer = id(newCustomer());
    newCard(customer, digits);
    String order = "{\"customer_id\": \"%s\", \"items\": [{\"product_id\": \"%s\", \"quantity\": 2}], \"capture\": \"%s\"}";
    return call("createOrder", order, customer, id(newProduct()), capture);
  }

  static final String visa = "4242424242424242";

  static void customers() {
    JsonNode customer = newCustomer();
    JsonNode changed = call("updateCustomer", "{\"id\": \"%s\", \"first_name\": \"Grace\"}", id(customer));
    same(changed.get("first_name").asText(), "Grace", "first_name");
    same(call("getCustomer", "{\"id\": \"%s\", \"expand\": [\"payment_methods\"]}", id(customer)).get("payment_methods").size(), 0, "cards");
    same(call("listCustomers", "{\"email\": \"%s\"}", customer.get("email").asText()).get("data").size(), 1, "customers");
    call("createCustomerCredit", "{\"id\": \"%s\", \"type\": \"grant\", \"amount\": 500, \"currency\": \"usd\", \"reason\": \"Late delivery\"}", id(customer));
    same(call("getCustomerCredit", "{\"id\": \"%s\"}", id(customer)).get("entries").get(0).get("balance").asInt(), 500, "balance");
    check(call("deleteCustomer", "{\"id\": \"%s\"}", id(customer)).get("deleted").asBoolean(), "deleted");
  }

  static void paymentMethods() {
    String customer = id(newCustomer());
    JsonNode token = call(browser, "createCardToken", "{\"card\": " + String.format(card, visa) + "}");
    same(token.get("card").get("brand").asText(), "visa", "brand");
    String first = id(call("attachPaymentMethod", "{\"id\": \"%s\", \"card_token\": \"%s\"}", customer, id(token)));
    String second = id(newCard(customer, "5555555555554444"));
    same(call("listPaymentMethods", "{\"id\": \"%s\"}", customer).get("data").size(), 2, "cards");
    JsonNode moved = call("updatePaymentMethod", "{\"id\": \"%s\", \"pmId\": \"%s\", \"set_as_default\": true}", customer, first);
    check(moved.get("is_default").asBoolean(), "is_default");
    same(call("getPaymentMethod", "{\"id\": \"%s\", \"pmId\": \"%s\"}", customer, first), moved, "the card");
    call("deletePaymentMethod", "{\"id\": \"%s\", \"pmId\": \"%s\", \"replacement_payment_method_id\": \"%s\"}", customer, first, second);
  }

  static void products() throws java.io.IOException {
    File pixel = File.createTempFile("pixel", ".gif");
    Files.write(pixel.toPath(), Base64.getDecoder().decode("R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"));
    String product = id(newProduct());
    JsonNode changed = call("updateProduct", "{\"id\": \"%s\", \"pricing\": {\"amount\": 5100}}", product);
    same(changed.get("pricing").get("amount").asInt(), 5100, "amount");
    String first = id(call("uploadProductImage", "{\"id\": \"%s\", \"_file\": \"%s\"}", product, pixel));
    String second = id(call("uploadProductImage", "{\"id\": \"%s\", \"_file\": \"%s\"}", product, pixel));
    pixel.delete();
    JsonNode ordered = call("reorderProductImages", "{\"id\": \"%s\", \"image_ids\": [\"%s\", \"%s\"]}", product, second, first);
    same(id(ordered.get("data").get(0)), second, "the first image");
    call("deleteProductImage", "{\"id\": \"%s\", \"imageId\": \"%s\"}", product, first);
    check(call("getProduct", "{\"id\": \"%s\", \"expand\": [\"images\"]}", product).get("images").get(0).has("url"), "url");
    same(id(call("listProducts", "{\"sort\": \"-updated_at\"}").get("data").get(0)), product, "the first product");
    call("deleteProduct", "{\"id\": \"%s\"}", product);
  }

  static void orders() {
    JsonNode order = newOrder(visa);
    same(order.get("status").asText() + order.get("total").asInt(), "succeeded9800", "order");
    same(call("refundOrder", "{\"id\": \"%s\", \"amount\": 800}", id(order)).get("status").asText(), "partially_refunded", "status");
    // The client sends an optional body that is absent as JSON null.
    call("refundOrder", "{\"id\": \"%s\"}", id(order));
    JsonNode shown = call("getOrder", "{\"id\": \"%s\", \"expand\": [\"customer\"]}", id(order));
    same(id(shown.get("customer")), order.get("customer_id").asText(), "customer");
    same(shown.get("refunded_amount").asInt(), 9800, "refunded_amount");
    String customer = order.get("customer_id").asText();
    JsonNode listed = call("listOrders", "{\"customerId\": \"%s\", \"status\": [\"refunded\", \"failed\"], \"totalGte\": 1}", customer);
    same(listed.get("data").size(), 1, "orders");
    JsonNode refunds = call("listTransactions", "{\"orderId\": \"%s\", \"type\": [\"refund\"]}", id(order)).get("data");
    same(refunds.size(), 2, "refunds");
    same(call("getTransaction", "{\"id\": \"%s\"}", id(refunds.get(0))).get("type").asText(), "refund", "type");
    JsonNode declined = newOrder("4000009999003220");
    same(declined.get("failure_code").asText(), "do_not_honor", "failure_code");
    same(call("retryOrder", "{\"id\": \"%s\"}", id(declined)).get("status").asText(), "succeeded", "status");
    String held = id(newOrder(visa, "manual"));
    same(call("captureOrder", "{\"id\": \"%s\", \"amount\": 4900}", held).get("captured_amount").asInt(), 4900, "captured_amount");
    String released = id(newOrder(visa, "manual"));
    same(call("voidOrder", "{\"id\": \"%s\"}", released).get("status").asText(), "voided", "status");
    String disputed = id(newOrder(visa));
    call("raiseChargeback", "{\"id\": \"%s\"}", disputed);
    JsonNode resolved = call("resolveChargeback", "{\"id\": \"%s\", \"outcome\": \"dismissed\"}", disputed);
    same(resolved.get("status").asText(), "chargeback_dismissed", "status");
    refused("getOrder", 404, "resource_not_found", String.format("{\"id\": \"%s\"}", UUID.randomUUID()));
  }

  static void coupons() {
    JsonNode coupon = call("createCoupon", "{\"name\": \"Tea week\", \"percentage\": 12.5, \"codes\": {\"count\": 1}}");
    String code = coupon.get("codes").get(0).get("code").asText();
    String ask = "{\"code\": \"%s\", \"amount\": 1000, \"currency\": \"usd\"}";
    same(call("validateCoupon", ask, code).get("total_after_discount").asInt(), 875, "total_after_discount");
    same(call("validateCoupon", ask, "is-not-there").get("reason").asText(), "code_not_found", "reason");
    call("mintCouponCodes", "{\"id\": \"%s\", \"count\": 2}", id(coupon));
    same(call("listCouponCodes", "{\"id\": \"%s\"}", id(coupon)).get("data").size(), 3, "codes");
    call("updateCoupon", "{\"id\": \"%s\", \"description\": \"All teas\"}", id(coupon));
    check(!call("archiveCoupon", "{\"id\": \"%s\", \"archived\": true}", id(coupon)).get("archived_at").isNull(), "archived_at");
    check(!call("deleteCoupon", "{\"id\": \"%s\"}", id(coupon)).get("active").asBoolean(), "active");
    same(id(call("getCoupon", "{\"id\": \"%s\"}", id(coupon))), id(coupon), "id");
    same(call("listCoupons", "{\"archived\": \"true\"}").get("data").size(), 1, "coupons");
  }

  static void pages() {
    JsonNode order = newOrder(visa);
    check(call("getOrderReceipt", "{\"id\": \"%s\"}", id(order)).has("url"), "url");
    JsonNode invoice = call("listInvoices", "{\"kind\": [\"invoice\"]}").get("data").get(0);
    same(call("getInvoice", "{\"id\": \"%s\"}", id(invoice)).get("number"), invoice.get("number"), "number");
    check(call("getInvoicePdf", "{\"id\": \"%s\"}", id(invoice)).has("url"), "url");
    check(call("getInvoiceXml", "{\"id\": \"%s\"}", id(invoice)).has("url"), "url");
    check(call("createInvoiceCorrection", "{\"id\": \"%s\", \"reason\": \"The company was missing\", \"company\": \"Hopper GmbH\"}", id(invoice)).has("invoice_id"), "invoice_id");
    check(call("getInvoiceMonth", "{}").has("url"), "url");
    String items = String.format("\"mode\": \"payment\", \"items\": [{\"product_id\": \"%s\", \"quantity\": 1}]}", id(newProduct()));
    JsonNode session = call("createCheckoutSession", "{" + items);
    same(call("getCheckoutSession", "{\"id\": \"%s\"}", id(session)).get("url"), session.get("url"), "url");
    same(call("expireCheckoutSession", "{\"id\": \"%s\"}", id(session)).get("status").asText(), "expired", "status");
    same(call("listCheckoutSessions", "{\"status\": [\"expired\"]}").get("data").size(), 1, "sessions");
    JsonNode link = call("createPaymentLink", "{\"name\": \"Tea\", " + items);
    check(!call("updatePaymentLink", "{\"id\": \"%s\", \"active\": false}", id(link)).get("active").asBoolean(), "active");
    same(call("getPaymentLink", "{\"id\": \"%s\"}", id(link)).get("url"), link.get("url"), "url");
    same(call("listPaymentLinks", "{\"active\": false}").get("data").size(), 1, "links");
    String customer = order.get("customer_id").asText();
    String opened = id(call("createCustomerSession", "{\"customer_id\": \"%s\"}", customer));
    call("getCustomerSession", "{\"id\": \"%s\"}", opened);
    call("deleteCustomerSession", "{\"id\": \"%s\"}", opened);
    call("deleteCustomerSessions", "{\"id\": \"%s\"}", customer);
  }

  static void subscriptions() {
    check(call("listPlans", "{\"active\": true}").get("data").size() > 0, "plans");
    JsonNode plan = call("getPlan", "{\"id\": \"%s\"}", System.getenv("SVC_PLAN_ID"));
    String customer = id(newCustomer());
    newCard(customer, visa);
    JsonNode created = call("createSubscription", "{\"customer_id\": \"%s\", \"plan_id\": \"%s\"}", customer, id(plan));
    same(created.get("plan").get("amount"), plan.get("amount"), "amount");
    String self = String.format("{\"id\": \"%s\"}", id(created));
    same(call("listUpcomingBills", "{\"id\": \"%s\", \"count\": 3}", id(created)).get("data").size(), 3, "upcoming");
    call("getClock", "{}");
    check(call("advanceClock", "{\"by\": {\"days\": 32}}").get("happened").size() > 0, "happened");
    same(call("getSubscription", self).get("completed_cycles").asInt(), 2, "completed_cycles");
    JsonNode listed = call("listSubscriptions", "{\"customerId\": \"%s\", \"status\": [\"active\"]}", customer);
    same(listed.get("data").size(), 1, "subscriptions");
    call("updateSubscription", "{\"id\": \"%s\", \"description\": \"For the office\"}", id(created));
    String twoSeats = String.format("{\"id\": \"%s\", \"plan_id\": \"%s\", \"quantity\": 2, \"when\": \"renewal\"}", id(created), id(plan));
    same(call("previewPlanChange", twoSeats).get("amount_due").asInt(), 0, "amount_due");
    same(call("changePlan", twoSeats).get("status").asText(), "scheduled", "status");
    check(call("undoPlanChange", self).get("scheduled_change").isNull(), "scheduled_change");
    JsonNode added = call("addRenewalItem", "{\"id\": \"%s\", \"product_id\": \"%s\", \"quantity\": 2}", id(created), id(newProduct()));
    String item = id(added.get("renewal_items").get(0));
    JsonNode without = call("removeRenewalItem", "{\"id\": \"%s\", \"itemId\": \"%s\"}", id(created), item);
    same(without.get("renewal_items").size(), 0, "renewal_items");
    refused("pauseSubscription", 501, "not_implemented", self);
    refused("resumeSubscription", 501, "not_implemented", self);
    same(call("cancelSubscription", self).get("status").asText(), "canceled", "status");
  }

  static void events() {
    String cursor = call("readEventFeed", "{}").get("cursor").asText();
    JsonNode event = call("triggerEvent", "{\"type\": \"order.failed\"}");
    JsonNode order = event.get("data").get("object");
    same(order.get("status").asText(), "failed", "status");
    check(call("readEventFeed", "{\"cursor\": \"%s\"}", cursor).get("data").size() > 0, "the feed");
    same(call("getEvent", "{\"id\": \"%s\"}", id(event)), event, "the event");
    same(call("listEvents", "{\"type\": [\"order.failed\"], \"objectId\": \"%s\"}", id(order)).get("data").get(0), event, "the event");
  }

  static void requests() throws InterruptedException {
    JsonNode logged = eventually("a request is logged", () -> call("listRequests", "{\"path\": \"/v1/customers\", \"method\": \"GET\"}").get("data").get(0));
    JsonNode shown = call("getRequest", "{\"requestId\": \"%s\"}", logged.get("request_id").asText());
    same(shown.get("actor").get("kind").asText(), "key", "kind");
  }

  static void webhookEndpoints() throws InterruptedException {
    JsonNode endpoint = call("createWebhookEndpoint", "{\"url\": \"%s\", \"enabled_events\": [\"customer.*\"]}", System.getenv("SVC_RECEIVER_URL"));
    check(endpoint.get("signing_secret").asText().startsWith("whsec_"), "signing_secret");
    newCustomer();
    String self = String.format("{\"id\": \"%s\"}", id(endpoint));
    String start = String.format("{\"id\": \"%s\", ", id(endpoint));
    JsonNode delivered = eventually(
        "the event is delivered", () -> call("listWebhookEndpointEvents", start + "\"deliveryStatus\": \"delivered\"}").get("data").get(0));
    same(call("listWebhookEndpointDeliveryLogs", self).get("data").get(0).get("status").asText(), "success", "status");
    call("replayWebhookEndpointEvent", start + "\"eventId\": \"%s\", \"force\": true}", id(delivered));
    same(call("testWebhookEndpoint", start + "\"event_type\": \"order.succeeded\"}").get("http_status").asInt(), 200, "http_status");
    call("downgradeWebhookEndpointVersion", start + "\"api_version\": \"2025-11-04\"}");
    call("upgradeWebhookEndpointVersion", start + "\"api_version\": \"2026-02-11\", \"dry_run\": true}");
    call("rotateWebhookEndpointSecret", self);
    call("getWebhookEndpoint", self);
    same(call("updateWebhookEndpoint", start + "\"status\": \"disabled\"}").get("status").asText(), "disabled", "status");
    same(call("listWebhookEndpoints", "{}").get("data").size(), 1, "endpoints");
    call("deleteWebhookEndpoint", self);
  }

  static void team() {
    String role = null;
    for (JsonNode one : call("listRoles", "{\"expand\": [\"permissions\"]}").get("data")) if (one.get("name").asText().equals("Support")) role = id(one);
    serial += 1;
    call("createTeamMember", "{\"first_name\": \"Alan\", \"last_name\": \"Turing\", \"email\": \"alan.%d@example.com\", \"phone_number\": \"+15551234567\", \"role_id\": \"%s\"}", serial, role);
    check(call("listTeamMembers", "{\"status\": [\"pending\"]}").get("data").size() > 0, "members");
  }

  public static void main(String[] words) throws Exception {
    customers();
    paymentMethods();
    products();
    orders();
    coupons();
    pages();
    subscriptions();
    events();
    requests();
    webhookEndpoints();
    team();
  }
}
