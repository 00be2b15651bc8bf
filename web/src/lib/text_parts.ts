// TextPart is a part of a text: whole lines, which can be laid out separately, or a piece of a
// line.
export type TextPart = {from: number; to: number; isLines: boolean}

// partsOf returns the first parts of a text, at most count of them. The first part has at most
// `first` characters, each other at most `more`: a part ends after the last line ending that fits,
// or within its line if there is none. A short text is one part.
export function partsOf(text: string, first: number, more: number, count: number): TextPart[] {
  const parts: TextPart[] = []
  let atLine = true // whether the part starts at the beginning of a line
  for (let from = 0; from < text.length && parts.length < count; ) {
    let to = Math.min(text.length, from + (from === 0 ? first : more))
    const end = text.slice(from, to).lastIndexOf('\n') + 1
    const isCut = to < text.length
    if (isCut && end > 0) to = from + end
    else if (isCut && isWithin(text, to)) to--
    const endsLine = text[to - 1] === '\n'
    parts.push({from, to, isLines: atLine && endsLine && (isCut || from > 0)})
    atLine = endsLine
    from = to
  }
  return parts
}

// isWithin reports whether an offset is inside a surrogate pair or a line ending.
const isWithin = (text: string, at: number): boolean =>
  /^(?:[\ud800-\udbff][\udc00-\udfff]|\r\n)$/.test(text.slice(at - 1, at + 1))
