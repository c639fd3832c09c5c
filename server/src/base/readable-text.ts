/** Joiners between two pictures, and the mark that asks for the coloured picture. */
const IN_EMOJI =
  /(?<=[\p{Extended_Pictographic}\p{Emoji_Modifier}]\ufe0f?)\u200d(?=\p{Extended_Pictographic})|(?<=\p{Extended_Pictographic})\ufe0f/gu

/**
 * Control characters steer terminals, and PostgreSQL refuses NUL and lone surrogates. Marks of direction turn the text
 * around them. Invisible characters make two names look the same, or hide a message.
 */
const UNREADABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/u

export const READABLE_RULE = 'without control or invisible characters'

export function isReadable(text: string): boolean {
  return !UNREADABLE.test(text.replaceAll(IN_EMOJI, ''))
}
