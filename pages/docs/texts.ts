export const docsTexts = {
  copied: 'Copied',
  copy: 'Copy',
  light: 'Light',
  dark: 'Dark',
  languages: 'Language',
  samplesWithKey:
    'What you copy has the address of this installation and a key of your sandbox, which lasts until {time}.',
  search: 'Search guides and API reference',
  loading: 'Loading…',
  nothing: 'No results.',
  failed: 'The search could not be loaded. Check the connection and try again.',
  tryIt: 'Try it',
  send: 'Send request',
  sending: 'Sending…',
  body: 'Body (JSON)',
  tryNote:
    'Sends the request to your sandbox with a key that ends when you sign out, after one hour at the latest. The key stays in this tab.',
  signIn: 'Sign in to the dashboard to send requests from this page.',
  noSandbox: 'You are not a member of a sandbox company.',
  invalidBody: 'The body must be JSON.',
  noAnswer: 'The service did not answer. Check the connection and try again.',
};
