/** What a form says if others have changed the object in the meantime. */
export const editing = {
  title: 'This was changed while you were editing',
  lead: 'Choose which value to keep, then save again. What you typed is still here.',
  error: 'Your changes are not saved. Choose a value for each field above, then save again.',
  changed: (by: string, from: string, to: string) => `${by} changed it from ${from} to ${to}`,
  wasChanged: (from: string, to: string) => `It was changed from ${from} to ${to}`,
  /** At the field. */
  changedTo: (by: string, to: string) => `${by} changed this to ${to}`,
  wasChangedTo: (to: string) => `This was changed to ${to}`,
  theirs: (by: string) => `From ${by}`,
  current: 'Saved value',
  yours: 'Your value',
  alsoChanged: 'Also changed, and updated in this form:',
  /** After the form was saved. */
  meanwhile: (by: string, label: string, to: string) => `${by} changed “${label}” to ${to} in the meantime.`,
  wasChangedMeanwhile: (label: string, to: string) => `“${label}” was changed to ${to} in the meantime.`,
  apiKey: (name: string) => `The API key “${name}”`,
  operator: (name: string) => `The operator ${name}`,
  empty: 'empty',
  on: 'on',
  off: 'off',
};
