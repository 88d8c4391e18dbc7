import { CopyButton } from './copy.tsx';

interface CodeProps {
  readonly text: string;
  readonly label: string;
  /** What is copied, if that is not what is shown. */
  readonly copied?: () => Promise<string>;
}

export function Code({ text, label, copied }: CodeProps) {
  return (
    <div className="overflow-hidden rounded-[8px] border border-line">
      <div className="flex items-center justify-between gap-3 border-b border-line bg-sunken py-1 pr-1.5 pl-3">
        <span className="text-sm font-medium">{label}</span>
        <CopyButton text={copied ?? text} />
      </div>
      <pre
        // A scrollable region must be reachable by keyboard.
        tabIndex={0}
        aria-label={label}
        role="region"
        className="max-h-112 overflow-auto bg-surface p-3 font-mono text-[13px] leading-relaxed whitespace-pre-wrap break-words"
      >
        {text}
      </pre>
    </div>
  );
}

export function JsonView({ value, label }: { value: unknown; label: string }) {
  return <Code label={label} text={typeof value === 'string' ? value : JSON.stringify(value ?? null, null, 2)} />;
}
