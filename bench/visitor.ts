/** A merchant who signed up to the dashboard of a measured service. */
export interface Visitor {
  readonly companyId: string;
  /** Of the session, as `name=value`. */
  readonly cookie: string;
  /** Reads a path in the sandbox of the merchant. */
  get(path: string): Promise<unknown>;
  post(path: string, body: object): Promise<unknown>;
}

export async function signUp(baseUrl: string, email = 'ada@example.com'): Promise<Visitor> {
  const headers = { origin: baseUrl, 'sec-fetch-site': 'same-origin', 'content-type': 'application/json' };
  const person = { first_name: 'Ada', last_name: 'Lovelace', phone_number: '+15551234567', company_name: 'Engines' };
  const body = JSON.stringify({ ...person, email, password: 'correct horse battery' });
  const reply = await fetch(`${baseUrl}/dashboard/sign_up`, { method: 'POST', headers, body });
  if (reply.status !== 201) throw new Error(`The sign-up was answered ${reply.status}: ${await reply.text()}`);
  const { companies } = (await reply.json()) as { companies: { id: string; mode: string }[] };
  const companyId = companies.find(({ mode }) => mode === 'sandbox')?.id ?? '';
  const cookie = reply.headers.getSetCookie().map((one) => one.split(';')[0]);
  return {
    companyId,
    cookie: cookie[0] ?? '',
    get: (path) => call(path, {}),
    post: (path, sent) => call(path, { method: 'POST', body: JSON.stringify(sent) }),
  };

  async function call(path: string, request: RequestInit): Promise<unknown> {
    const own = { accept: 'application/json', cookie: cookie.join('; '), 'svc-company': companyId };
    const answer = await fetch(baseUrl + path, { ...request, headers: { ...(request.body && headers), ...own } });
    if (!answer.ok) throw new Error(`${path} was answered ${answer.status}: ${await answer.text()}`);
    return answer.json();
  }
}
