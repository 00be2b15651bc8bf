import type {Path} from './tree.ts'

// readPath parses a path as in diagnostics: nodes[2].data.userPrompt, agents["my writer"].model. It
// returns null if the text is not a path.
export function readPath(text: string): Path | null {
  const path: (string | number)[] = []
  let rest = text
  while (rest !== '') {
    const word = /^(?:\.)?([\w-]+)/.exec(rest)
    const index = /^\[(\d+)\]/.exec(rest)
    const quoted = /^\[("(?:[^"\\]|\\.)*")\]/.exec(rest)
    if (index) path.push(Number(index[1]))
    else if (quoted) {
      const key = unquote(quoted[1]!)
      if (key === null) return null
      path.push(key)
    } else if (word && (rest.startsWith('.') ? path.length > 0 : path.length === 0)) path.push(word[1]!)
    else return null
    rest = rest.slice((index ?? quoted ?? word)![0].length)
  }
  return path
}

// unquote parses a quoted string with the escapes of Go, which are those of JSON and \a, \v, \x and
// \U.
function unquote(text: string): string | null {
  const json = text.replace(/\\(?:a|v|x([0-9a-fA-F]{2})|U([0-9a-fA-F]{8})|.)/g, (all, two?: string, eight?: string) => {
    if (two) return `\\u00${two}`
    if (eight) return JSON.stringify(String.fromCodePoint(Number.parseInt(eight, 16))).slice(1, -1)
    return all === '\\a' ? '\\u0007' : all === '\\v' ? '\\u000b' : all
  })
  try {
    return JSON.parse(json) as string
  } catch {
    return null
  }
}

// pointer formats a path as a JSON Pointer (RFC 6901).
export const pointer = (path: Path): string =>
  path.map(p => `/${String(p).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')
