export const notes = {
  title: 'Notes',
  label: 'Note',
  hint: 'Only your team can see this.',
  add: 'Add note',
  none: 'No notes.',
  empty: 'Enter a note.',
  delete: 'Delete note',
  deleteTitle: 'Delete this note?',
  deleteText: 'The note is deleted for the whole team.',
  deleted: 'Note deleted.',
};
