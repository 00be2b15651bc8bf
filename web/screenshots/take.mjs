// Usage: node take.mjs PROGRAM CHROMIUM FOLDER [NAME…]. This script takes the pictures of all
// screens, or of the named ones, in both themes and at two widths, from a server on a new store.
import {mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync} from 'node:fs'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {caller, settled, signIn, withBrowser} from '../specs/lib.mjs'
import {serve} from '../specs/server.mjs'
import {shrinker} from './picture.mjs'
import {picturesOf, screens, sizes, themes} from './screens.mjs'
import {fill, prepare} from './world.mjs'

const [program, chromium, folder, ...names] = process.argv.slice(2)
const chosen = screens.filter(s => names.length === 0 || names.includes(s.name))
const root = 'root-of-the-pictures-which-nothing-else-knows'

const home = mkdtempSync(join(tmpdir(), 'hocket-screenshots-'))
const server = await serve({program, home, token: root}, ...prepare(home))
try {
  mkdirSync(folder, {recursive: true})
  const {token} = await caller(server.origin, root)('/tokens', {name: 'Ada', role: 'admin', approve: true})
  const api = caller(server.origin, token)
  await withBrowser(chromium, server.origin, async ({open, allow}) => {
    allow(/status of 404/) // the "not found" page
    const shrink = await shrinker(await open())
    const pages = []
    for (const colorScheme of themes) {
      for (const [width, viewport] of Object.entries(sizes)) {
        const page = await open({colorScheme, viewport, timezoneId: 'Europe/Berlin', locale: 'en-GB'})
        const of = screen => picturesOf(screen).find(p => p.theme === colorScheme && p.width === width)
        const take = async picture => {
          await page.evaluate(() => document.fonts.ready)
          writeFileSync(join(folder, picture.file), await shrink(await page.screenshot()))
        }
        pages.push({page, take, of})
        await page.goto(`${server.origin}/`)
        await page.getByLabel('Token').waitFor()
        for (const screen of chosen.filter(s => s.signedOut)) await take(of(screen))
        await signIn(page, server.origin, token)
      }
    }
    let world = {}
    for (const before of [true, false]) {
      if (!before) world = await fill(api)
      for (const screen of chosen.filter(s => !s.signedOut && Boolean(s.before) === before)) {
        for (const {page, take, of} of pages) {
          const picture = of(screen)
          if (!picture) continue
          await page.goto(server.origin + (typeof screen.path === 'function' ? screen.path(world) : screen.path))
          await settled(page)
          await screen.act?.(page)
          // content that is drawn after the first responses, such as node positions and counts
          await page.waitForTimeout(400)
          await take(picture)
        }
      }
    }
  })
  if (names.length === 0) {
    const all = new Set(screens.flatMap(picturesOf).map(p => p.file))
    for (const file of readdirSync(folder)) if (!all.has(file)) rmSync(join(folder, file))
  }
} finally {
  await server.kill()
  rmSync(home, {recursive: true, force: true})
}
