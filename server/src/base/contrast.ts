// A shop chooses any colour, and what is written in it or on it must be readable: WCAG asks for 4.5:1.

export const LEAST_CONTRAST = 4.5
// The grounds of http/server/page-style.ts on which the colour is hardest to read.
const LIGHT = { ground: '#f4f6f5', text: '#ffffff', towards: '#000000' }
const DARK = { ground: '#18211d', text: '#000000', towards: '#ffffff' }
// At the last step the colour is black or white.
const STEPS = 50

/** The colour of buttons and links, and that of the text on it. */
type Accent = { accent: string; onAccent: string }

/** As near to `#rrggbb` as can be read, on light pages and on dark ones. Undefined for another text. */
export function accentsOf(color: string): { light: Accent; dark: Accent } | undefined {
  if (!/^#[0-9a-f]{6}$/.test(color)) return undefined
  return { light: accentOn(LIGHT, color), dark: accentOn(DARK, color) }
}

function accentOn({ ground, text, towards }: typeof LIGHT, color: string): Accent {
  for (let step = 0; step < STEPS; step++) {
    const accent = mix(color, towards, step / STEPS)
    if (contrast(accent, ground) >= LEAST_CONTRAST && contrast(accent, text) >= LEAST_CONTRAST)
      return { accent, onAccent: text }
  }
  return { accent: towards, onAccent: text }
}

/** From 1 for equal colours to 21 for black and white. */
export function contrast(first: string, second: string): number {
  const [darker = 0, lighter = 0] = [luminance(first), luminance(second)].toSorted((one, other) => one - other)
  return (lighter + 0.05) / (darker + 0.05)
}

function luminance(color: string): number {
  const [red = 0, green = 0, blue = 0] = channels(color).map((value) => {
    const share = value / 255
    return share <= 0.040_45 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

function mix(color: string, other: string, share: number): string {
  const others = channels(other)
  const mixed = channels(color).map((value, at) => Math.round(value + (others[at]! - value) * share))
  return `#${mixed.map((value) => value.toString(16).padStart(2, '0')).join('')}`
}

function channels(color: string): number[] {
  return [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16))
}
