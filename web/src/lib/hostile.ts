// odd matches characters that change how the text around them is read: bidirectional controls,
// invisible characters, and control characters other than tab and line feed.
export const odd = new RegExp(
  String.raw`[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f` +
    String.raw`\u2028-\u202e\u2060-\u2064\u2066-\u206f\ufeff\ufff9-\ufffb]`,
  'g',
)

export type Piece = {text: string; odd: boolean}

const nameOf = (c: string): string => `U+${c.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}`

// pieces splits a text at characters that are shown as their number. Windows line endings are line
// endings.
export function pieces(given: string): Piece[] {
  const text = given.replaceAll('\r\n', '\n')
  const out: Piece[] = []
  let from = 0
  for (const m of text.matchAll(odd)) {
    if (m.index > from) out.push({text: text.slice(from, m.index), odd: false})
    out.push({text: nameOf(m[0]), odd: true})
    from = m.index + m[0].length
  }
  if (from < text.length) out.push({text: text.slice(from), odd: false})
  return out
}

// clean returns a text for titles and labels, in which no element can show such characters.
export const clean = (text: string): string => text.replaceAll('\r\n', '\n').replace(odd, c => `‹${nameOf(c)}›`)
