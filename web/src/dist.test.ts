import {readdirSync, readFileSync, statSync} from 'node:fs'
import {gzipSync} from 'node:zlib'
import {describe, expect, test} from 'vitest'
import {licences, packages} from '../scripts/licences.mjs'

// The output of `npm run build`.
const dist = new URL('../dist/', import.meta.url)
const files = readdirSync(dist, {recursive: true, withFileTypes: true})
  .filter(f => f.isFile())
  .map(f => `${f.parentPath}/${f.name}`.slice(dist.pathname.length).replace(/^\//, ''))
const read = (file: string): Buffer => readFileSync(new URL(file, dist))
const packed = (some: string[]): number => some.reduce((n, f) => n + gzipSync(read(f), {level: 9}).length, 0)
const plain = (some: string[]): number => some.reduce((n, f) => n + statSync(new URL(f, dist)).size, 0)
const kb = 1000

// named returns the files that a text references in the form the build writes: in index.html, in
// imports, and in the dependency lists of dynamic imports.
const named = (text: string, at: RegExp): string[] => [...text.matchAll(at)].map(m => `assets/${m[1]}`)

// firstView returns the files that a browser loads before the first page is drawn: the files in
// index.html, the application that its script imports, and everything these import.
function firstView(): string[] {
  const found = new Set(named(read('index.html').toString(), /"\.\/assets\/([^"]+)"/g))
  const all = read('assets/index.js').toString()
  for (const f of named(all.slice(0, all.indexOf(']')), /"\.\/([^"]+)"/g)) found.add(f)
  for (const f of found)
    if (f.endsWith('.js'))
      for (const more of named(read(f).toString(), /(?:from|import)"\.\/([^"]+)"/g)) found.add(more)
  return ['index.html', ...found]
}

describe('the built page', () => {
  const view = firstView()

  test('has a first view of 180 KB at most', () => {
    expect(view).toContain('assets/start.js')
    expect(view).toContain('assets/vendor.js')
    expect(packed(view)).toBeLessThanOrEqual(180 * kb)
  })

  test('draws the first view without the parts of the graph and of the editor', () => {
    expect(view.filter(f => /flow|code|text/.test(f))).toEqual([])
  })

  test('has scripts and styles of 560 KB at most', () => {
    const code = files.filter(f => /\.(js|css)$/.test(f))
    expect(code.length).toBeGreaterThan(5)
    expect(packed(code)).toBeLessThanOrEqual(560 * kb)
  })

  test('has fonts of 100 KB at most, and is 2 MB at most', () => {
    expect(plain(files.filter(f => f.endsWith('.woff2')))).toBeLessThanOrEqual(100 * kb)
    expect(plain(files)).toBeLessThanOrEqual(2000 * kb)
  })

  test('has no source maps', () => {
    expect(files.filter(f => f.endsWith('.map') || read(f).includes('sourceMappingURL='))).toEqual([])
  })

  test('has no file that is not known to the server by its name', () => {
    expect(files.filter(f => /-[A-Za-z0-9_]{8}\.(js|css)$/.test(f))).toEqual([])
  })
})

// If the file is stale, run npm run licences.
test('the licences are those of what the page is built of', () => {
  const text = readFileSync(new URL('../public/licences.txt', import.meta.url), 'utf8')
  for (const p of packages()) expect(text).toContain(`\n${p.name} ${p.version}\n`)
  expect(text).toBe(licences())
  expect(text).toContain('SIL OPEN FONT LICENSE')
})
