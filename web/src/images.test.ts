import {readdirSync, readFileSync, statSync} from 'node:fs'
import {expect, test} from 'vitest'
import {picturesOf, screens, sizes, themes} from '../screenshots/screens.mjs'

const folder = new URL('../../docs/images/', import.meta.url)
const most = 3_000_000

// If this test fails, run make screenshots.
test('every screen has its pictures, and no others are there', () => {
  const names = screens.flatMap(picturesOf).map(p => p.file)
  expect(new Set(names).size).toBe(names.length)
  expect(readdirSync(folder).sort()).toEqual(names.sort())
})

test('every route of the page is pictured, and no route that it does not have', () => {
  const app = readFileSync(new URL('App.tsx', import.meta.url), 'utf8')
  const routes = [...app.matchAll(/<Route path="([^"]+)"/g)].map(m => m[1]!)
  expect(routes.length).toBeGreaterThan(10)
  // '' is the page of a user who is not signed in, and * is the page for an address without a
  // route.
  expect(new Set(screens.map(s => s.route))).toEqual(new Set([...routes, '', '*']))
  const whole = themes.length * Object.keys(sizes).length
  for (const route of routes)
    expect(screens.filter(s => s.route === route).map(s => picturesOf(s).length)).toContain(whole)
})

test('all pictures have 3 MB at most, and are of the sizes that they name', () => {
  let sum = 0
  for (const name of readdirSync(folder)) {
    sum += statSync(new URL(name, folder)).size
    const bytes = readFileSync(new URL(name, folder))
    expect(bytes.subarray(8, 16).toString('latin1')).toBe('WEBPVP8L')
    const packed = bytes.readUInt32LE(21) // 14 bits each: width and height, minus one
    expect(`${(packed & 0x3fff) + 1}`).toBe(/-(\d+)\.webp$/.exec(name)?.[1])
    expect(((packed >> 14) & 0x3fff) + 1).toBe(sizes[`${(packed & 0x3fff) + 1}`]?.height)
  }
  expect(sum).toBeLessThanOrEqual(most)
})
