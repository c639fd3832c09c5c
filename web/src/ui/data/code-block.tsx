import { CopyButton } from './copy-button.tsx'

/** Code to read and copy. It scrolls sideways, also with the keyboard. */
export function CodeBlock({ code, label }: { code: string; label: string }) {
  return (
    <div className="relative min-w-0">
      <pre
        // A region that scrolls must be reachable by keyboard.
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
        tabIndex={0}
        role="region"
        aria-label={label}
        className="max-h-[32rem] overflow-auto rounded-lg border border-line bg-code-ground py-3 pr-12 pl-4 font-mono text-[0.8125rem] leading-relaxed"
      >
        <code>{code}</code>
      </pre>
      <div className="absolute top-1.5 right-1.5 rounded-lg bg-code-ground">
        <CopyButton text={code} isIcon />
      </div>
    </div>
  )
}
