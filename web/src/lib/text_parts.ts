// TextPart is some of a text: whole lines, which can be laid out for themselves, or what is within a line.
export type TextPart = {from: number; to: number; isLines: boolean}

// partsOf gives the first parts of a text, so many at most. The first part has at most `first` characters, each other at most `more`: a part ends behind the last line end that it has room for, or
// where there is none, within its line. A short text is one part.
export function partsOf(text: string, first: number, more: number, count: number): TextPart[] {
  const parts: TextPart[] = []
  let atLine = true // whether the part begins with a line
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

// isWithin tells whether a place is within a pair of surrogates, or within a line end.
const isWithin = (text: string, at: number): boolean =>
  /^(?:[\ud800-\udbff][\udc00-\udfff]|\r\n)$/.test(text.slice(at - 1, at + 1))
