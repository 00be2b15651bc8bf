// Usage: node run.mjs CHROMIUM. This script runs specs, all in one browser. Each line of its input
// requests one: {"id", "spec", "settings"}; the settings have `origin` and the values that the spec
// needs. When a spec has ended, the script prints a line: {"id", "said", "error"}, without an error
// if it passed. Specs run concurrently. The script exits when its input ends.
import {AsyncLocalStorage} from 'node:async_hooks'
import {createInterface} from 'node:readline'
import {format} from 'node:util'
import {launch} from './lib.mjs'

const playing = new AsyncLocalStorage() // the name of a spec and its messages, which are reported with its result
const say = (...args) => playing.getStore()?.said.push(format(...args))
console.error = say
console.log = say // standard output is reserved for the results

process.on('unhandledRejection', err => {
  process.stderr.write(`${playing.getStore()?.name ?? 'a spec'}: unhandled rejection: ${err?.stack ?? err}\n`)
  process.exitCode = 1
})

const browser = await launch(process.argv[2])

async function play({id, spec: name, settings}) {
  const said = []
  let error
  try {
    const {spec} = await import(`./${name}.mjs`)
    await playing.run({name, said}, () => spec(browser, settings))
  } catch (err) {
    error = err?.stack || String(err)
  }
  process.stdout.write(`${JSON.stringify({id, said: said.join('\n'), error})}\n`)
}

const all = []
for await (const line of createInterface({input: process.stdin})) all.push(play(JSON.parse(line)))
await Promise.all(all)
await browser.close()
