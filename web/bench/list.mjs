// This benchmark measures the list of 100,000 runs, from a navigation or a filter change until the
// page shows the result.
import {execFileSync} from 'node:child_process'
import {ended, until} from '../specs/lib.mjs'
import {serve} from '../specs/server.mjs'
import {short} from './documents.mjs'
import {opened, repeat, seen} from './measure.mjs'
import {row} from './report.mjs'

export const stored = 100_000

// fill creates the store of a folder: four short runs and copies of them.
export async function fill({program, home, token, copies, args, api}) {
  const server = await serve({program, home, token}, ...args)
  const ask = api(server.origin)
  for (const [id, document] of Object.entries(short)) {
    await ask('/workflows', {id, document})
    const run = await ask('/runs', {workflow: id, input: 'Begin'})
    if (id === 'contract-approval')
      await until('it waits', async () => (await ask(`/runs/${run.id}`)).status === 'paused')
    else await ended(ask, run.id)
  }
  await server.stop()
  execFileSync(copies, [`${home}/hocket.db`, String(stored)], {stdio: ['ignore', 'inherit', 'inherit']})
}

const most = 500

// isListShown returns the page time if the list shows runs, or false.
const isListShown = () => document.querySelectorAll('[aria-label=Runs] [role=row]').length > 6 && performance.now()

// isListFiltered returns the page time if the list shows runs, each of them contains one of the
// words, and the counts have loaded, or a falsy value.
const isListFiltered = ({words, total}) => {
  const rows = [...document.querySelectorAll('[aria-label=Runs] [role=row]')].slice(1)
  return (
    rows.length > 5 &&
    rows.every(r => words.some(w => r.textContent.includes(w))) &&
    document.querySelector('[aria-label=Status] button span')?.textContent === total &&
    performance.now()
  )
}

// countText formats a number as the page does.
const countText = n => (n < 1000 ? String(n) : `${(n / 1000).toFixed(n < 10_000 ? 1 : 0)}k`)

export async function list({api, open, origin}) {
  const total = async query => countText((await api(`/runs/counts?${query}`)).total)
  const all = {words: [''], total: await total('')}
  const page = await open()
  const rows = []
  const opens = await repeat(async () => {
    rows.push(await opened(page, `${origin}/runs`, isListShown))
    return seen(page, isListFiltered, all)
  })
  // filter measures the time from a user action until the list matches; back undoes the action.
  const filter = (want, act, back) =>
    repeat(async () => {
      await page.evaluate(() => {
        for (const kind of ['click', 'input'])
          document.addEventListener(kind, () => (window.benchAt = performance.now()), {capture: true, once: true})
      })
      await act()
      const at = await seen(page, isListFiltered, want)
      const took = at - (await page.evaluate(() => window.benchAt))
      await back()
      await seen(page, isListFiltered, all)
      return took
    })
  const choose = (label, value) => () => page.getByLabel(label).selectOption(value)
  const field = page.getByRole('searchbox')
  const status = await filter(
    {words: ['failed'], total: all.total},
    () => page.getByRole('button', {name: /^failed/}).click(),
    () => page.getByRole('button', {name: /^All/}).click(),
  )
  const workflow = await filter(
    {words: ['order-intake'], total: await total('workflow=order-intake')},
    choose('Workflow', 'order-intake'),
    choose('Workflow', ''),
  )
  const trigger = await filter(
    {words: ['schedule'], total: await total('trigger=schedule')},
    choose('Trigger', 'schedule'),
    choose('Trigger', ''),
  )
  const week = new Date(Date.now() - 7 * 86_400_000).toISOString()
  const time = await filter(
    {words: [''], total: await total(`createdFrom=${week}`)},
    choose('Time', '7d'),
    choose('Time', ''),
  )
  // The list shows the error of a failed run, but not its input.
  const search = await filter(
    {words: ['Kraków', 'is not refunded'], total: await total('q=krakow')},
    () => field.fill('krakow'),
    () => field.fill(''),
  )
  await page.close()
  const name = `${stored.toLocaleString('en')} runs`
  return [
    row(`${name}: open the list`, 'ms', rows, most),
    row(`${name}: open the list, with its counts`, 'ms', opens, most),
    row(`${name}: choose a status`, 'ms', status, most),
    row(`${name}: choose a workflow`, 'ms', workflow, most),
    row(`${name}: choose a trigger`, 'ms', trigger, most),
    row(`${name}: choose the last week`, 'ms', time, most),
    row(`${name}: search for a word`, 'ms', search, most),
  ]
}
