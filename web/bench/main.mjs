// Usage: node main.mjs PROGRAM COPIES CHROMIUM [--json] [--only NAME,…] [--rounds 5]. This script
// measures the page in a browser, each part on its own store, and prints a table with the goals.
// COPIES is the program of bench/page.
import {mkdtempSync, rmSync, writeFileSync} from 'node:fs'
import {loadavg, tmpdir} from 'node:os'
import {join} from 'node:path'
import {parseArgs} from 'node:util'
import {chromium} from 'playwright-core'
import {caller, signIn, withBrowser} from '../specs/lib.mjs'
import {serve} from '../specs/server.mjs'
import {editor, liveGraph} from './graphs.mjs'
import {fill, list} from './list.mjs'
import {settings, spent} from './measure.mjs'
import {machine, table} from './report.mjs'
import {items, longRuns, pixel, value} from './runs.mjs'
import {text} from './texts.mjs'

const token = 'root-of-the-measurements-which-nothing-else-knows'

// replies returns the model replies, which arrive immediately or slowly enough to watch a run in
// progress.
const replies = delay =>
  JSON.stringify({replies: [{text: 'Next line.', times: 'always', ...(delay ? {delayMs: delay} : {})}]})

const parts = {
  editor: {measure: editor},
  live: {measure: liveGraph, delay: 4000},
  text: {measure: text},
  runs: {measure: longRuns},
  map: {measure: items},
  value: {measure: value},
  pixel: {measure: pixel},
  list: {measure: list, fill},
}

const {values: options, positionals} = parseArgs({
  options: {json: {type: 'boolean'}, only: {type: 'string'}, rounds: {type: 'string'}},
  allowPositionals: true,
})
const [program, copies, browserPath] = positionals
const chosen = options.only ? options.only.split(',') : Object.keys(parts)
const unknown = chosen.filter(name => !(name in parts))
if (!browserPath || unknown.length > 0) {
  console.error(
    browserPath
      ? `no part is called ${unknown.join(', ')}; there are ${Object.keys(parts).join(', ')}`
      : 'give the programs and the browser',
  )
  process.exit(2)
}

if (options.rounds) settings.rounds = Math.max(1, Number.parseInt(options.rounds, 10) || 1)

async function measured({measure, fill: filled, delay}) {
  const home = mkdtempSync(join(tmpdir(), 'hocket-bench-'))
  writeFileSync(join(home, 'replies.json'), replies(delay))
  const args = ['--replies', 'replies.json']
  try {
    await filled?.({program, home, token, copies, args, api: origin => caller(origin, token)})
    const server = await serve({program, home, token}, ...args)
    try {
      let rows = []
      await withBrowser(browserPath, server.origin, async ({open, tab}) => {
        const first = await open()
        await signIn(first, server.origin, token)
        await first.close() // it would take processor time
        rows = await measure({api: caller(server.origin, token), origin: server.origin, open: () => tab(first)})
      })
      return rows
    } finally {
      await server.kill()
    }
  } finally {
    rmSync(home, {recursive: true, force: true})
  }
}

// A benchmark that fails does not stop the others.
const rows = []
for (const name of chosen) {
  try {
    const took = await spent(async () => rows.push(...(await measured(parts[name]))))
    console.error(`measured ${name} in ${(took / 1000).toFixed(0)} s`)
  } catch (err) {
    console.error(`${name} could not be measured: ${err.message}`)
    process.exitCode = 1
  }
}
const browser = await chromium.launch({executablePath: browserPath, args: ['--no-sandbox']})
const on = {...machine(`Chromium ${browser.version()}`), load: loadavg()[0].toFixed(1)}
await browser.close()
process.stdout.write(options.json ? `${JSON.stringify({machine: on, rows}, null, 2)}\n` : table(rows, on))
