// node run.mjs SPEC CHROMIUM <SETTINGS: plays a spec against a server; SETTINGS are JSON, with `origin` and what the spec needs.
import {readFileSync} from 'node:fs'

const [name, chromium] = process.argv.slice(2)
const settings = JSON.parse(readFileSync(0, 'utf8'))
const {spec} = await import(`./${name}.mjs`)
try {
  await spec(chromium, settings)
} catch (err) {
  console.error(err.message ?? String(err))
  process.exit(1)
}
