/** Holds the place of what is on its way, in about its size, so that nothing jumps when it arrives. */
export function Skeleton({ className = 'h-4 w-24' }: { className?: string }) {
  return (
    <span
      aria-hidden="true"
      className={`inline-block max-w-full animate-sheen rounded-md bg-still-ground align-middle ${className}`}
    />
  )
}
