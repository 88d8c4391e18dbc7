import { useEffect, useId, useState } from 'react';
import { useFilters } from '../data.ts';
import { type Choice, Select } from './fields.tsx';

const fresh = { starting_after: undefined, ending_before: undefined };

/** Filters a list by one of several values. */
export function SelectFilter({ name, label, choices }: { name: string; label: string; choices: readonly Choice[] }) {
  const [filters, change] = useFilters();
  const id = useId();
  return (
    <div>
      <label htmlFor={id} className="mb-1 block text-sm text-muted">
        {label}
      </label>
      <Select
        id={id}
        choices={choices}
        value={filters[name] ?? ''}
        className="sm:min-w-36"
        onChange={(event) => change({ ...fresh, [name]: event.target.value || undefined })}
      />
    </div>
  );
}

const typingMs = 350;

export function TextFilter({
  name,
  label,
  placeholder,
  type = 'search',
}: {
  name: string;
  label: string;
  placeholder?: string;
  type?: string;
}) {
  const [filters, change] = useFilters();
  const id = useId();
  const current = filters[name] ?? '';
  const [text, setText] = useState(current);
  const [seen, setSeen] = useState(current);
  if (seen !== current) {
    setSeen(current);
    setText(current);
  }
  useEffect(() => {
    if (text === current) return undefined;
    const timer = setTimeout(() => change({ ...fresh, [name]: text.trim() || undefined }), typingMs);
    return () => clearTimeout(timer);
  });
  return (
    <div>
      <label htmlFor={id} className="mb-1 block text-sm text-muted">
        {label}
      </label>
      <input
        id={id}
        type={type}
        value={text}
        placeholder={placeholder}
        onChange={(event) => setText(event.target.value)}
        className={`control ${type === 'date' ? '' : 'sm:min-w-48'}`}
      />
    </div>
  );
}
