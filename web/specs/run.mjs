// node run.mjs CHROMIUM plays specs, all in one browser. Each line of its input asks for one: {"id", "spec", "settings"}, where the settings have `origin` and what the spec needs. When a spec
// has ended, a line of the output says so: {"id", "said", "error"}, without an error where it passed. Specs play at the same time. It ends with its input.
import {AsyncLocalStorage} from 'node:async_hooks'
import {createInterface} from 'node:readline'
import {format} from 'node:util'
import {chromium} from 'playwright-core'

const playing = new AsyncLocalStorage()
console.error = (...args) => playing.getStore()?.push(format(...args)) // what a spec says is told with its end

process.on('unhandledRejection', err => {
  process.stderr.write(`nobody waits for what failed: ${err.stack ?? err}\n`)
  process.exitCode = 1
})

const browser = await chromium.launch({executablePath: process.argv[2], args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage']})

async function play({id, spec: name, settings}) {
  const said = []
  let error
  try {
    const {spec} = await import(`./${name}.mjs`)
    await playing.run(said, () => spec(browser, settings))
  } catch (err) {
    error = err?.message || String(err)
  }
  process.stdout.write(`${JSON.stringify({id, said: said.join('\n'), error})}\n`)
}

const all = []
for await (const line of createInterface({input: process.stdin})) all.push(play(JSON.parse(line)))
await Promise.all(all)
await browser.close()
