import { encodeQR } from 'qr'

/**
 * The QR code is drawn in the browser, so its content goes nowhere. It is dark on white in both themes, as scanners
 * expect.
 */
export function QrCode({ text, label, className = '' }: { text: string; label: string; className?: string }) {
  const rows: boolean[][] = encodeQR(text, 'raw', { ecc: 'medium', border: 4 })
  const path = rows.map((row, y) => row.map((isDark, x) => (isDark ? `M${x} ${y}h1v1h-1z` : '')).join('')).join('')
  return (
    <svg
      viewBox={`0 0 ${rows.length} ${rows.length}`}
      shapeRendering="crispEdges"
      role="img"
      aria-label={label}
      className={className}
    >
      <path fill="#fff" d={`M0 0h${rows.length}v${rows.length}h-${rows.length}z`} />
      <path fill="#000" d={path} />
    </svg>
  )
}
