import {readdirSync, readFileSync} from 'node:fs'
import {join} from 'node:path'
import {describe, expect, it} from 'vitest'

const dir = import.meta.dirname
const css = readFileSync(join(dir, 'tokens.css'), 'utf8')

const theme = (name: string): Map<string, string> => {
  const block = css.split('}').find(b => b.includes(`[data-theme="${name}"]`)) ?? ''
  return new Map([...block.matchAll(/--([a-z0-9-]+):\s*(#[0-9A-Fa-f]{6});/g)].map(m => [m[1]!, m[2]!]))
}

const light = (hex: string): number => {
  const [r, g, b] = [1, 3, 5].map(i => {
    const c = Number.parseInt(hex.slice(i, i + 2), 16) / 255
    return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4
  }) as [number, number, number]
  return 0.2126 * r + 0.7152 * g + 0.0722 * b
}

const contrast = (a: string, b: string): number => {
  const [x, y] = [light(a), light(b)].sort((p, q) => q - p) as [number, number]
  return (x + 0.05) / (y + 0.05)
}

const grounds = ['bg', 'surface', 'sunken']
const states = ['running', 'completed', 'failed', 'waiting', 'warning']
const texts: [string, string][] = [
  ...['ink', 'ink2', 'ink3', 'accent'].flatMap(t => grounds.map((g): [string, string] => [t, g])),
  ...states.flatMap(s => [...grounds, `${s}-tint`].map((g): [string, string] => [s, g])),
  ...states.flatMap(s => ['ink', 'ink2'].map((t): [string, string] => [t, `${s}-tint`])),
  ['accent', 'accent-tint'],
  ['ink', 'accent-tint'],
  ['ink2', 'accent-tint'],
  ['on-accent', 'accent'],
  // the words of a text in the editor
  ...['ink', 'ink2', 'accent', 'completed', 'waiting', 'failed'].map((t): [string, string] => [t, 'selected']),
]

describe.each(['light', 'dark'])('the %s theme', name => {
  const colours = theme(name)
  const of = (token: string): string => {
    const c = colours.get(token)
    if (!c) throw new Error(`no token ${token}`)
    return c
  }
  it.each(texts)('%s can be read on %s', (text, ground) =>
    expect(contrast(of(text), of(ground))).toBeGreaterThanOrEqual(4.5),
  )
  it.each(grounds)('controls are seen on %s', ground =>
    expect(contrast(of('edge'), of(ground))).toBeGreaterThanOrEqual(3),
  )
  it('has the tokens of the other one', () =>
    expect([...colours.keys()].sort()).toEqual([...theme(name === 'light' ? 'dark' : 'light').keys()].sort()))
})

const files = (folder: string): string[] =>
  readdirSync(folder, {recursive: true, encoding: 'utf8'})
    .map(f => join(folder, f))
    .filter(f => /\.(tsx?|css)$/.test(f) && !/\.gen\.ts$|\.test\.ts$/.test(f))

describe('sources', () => {
  it('have colours in the tokens alone', () => {
    const found = files(join(dir, '..'))
      .filter(f => !f.endsWith('tokens.css'))
      .flatMap(f =>
        [...readFileSync(f, 'utf8').matchAll(/#[0-9a-fA-F]{3,8}\b(?!')|\brgba?\(|\bhsla?\(/g)].map(
          m => `${f}: ${m[0]}`,
        ),
      )
    expect(found).toEqual([])
  })
  it('make no markup of texts', () => {
    const found = files(join(dir, '..')).filter(f =>
      /innerHTML|outerHTML|insertAdjacentHTML|document\.write|setHTMLUnsafe|createContextualFragment/i.test(
        readFileSync(f, 'utf8'),
      ),
    )
    expect(found).toEqual([])
  })
})
