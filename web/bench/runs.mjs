// This benchmark measures long runs, a map of many items, a value of several megabytes, and how
// soon an event becomes visible.
import {ended, settled, until} from '../specs/lib.mjs'
import {asking, loop, map, times} from './documents.mjs'
import {heap, longTasks, opened, repeat, seen, worst} from './measure.mjs'
import {row} from './report.mjs'

const MB = 1e6

// hasEvents returns the page time if the page has a run with at least n events, or false.
const hasEvents = n =>
  Number(document.querySelector('[data-tab=events] span')?.textContent.replace(/\D/g, '')) >= n && performance.now()

// lastOf returns the number of the last event of a run, which has at most the given number of
// events.
async function lastOf(api, id, most) {
  let [from, upTo] = [0, most]
  while (from < upTo) {
    const middle = Math.floor((from + upTo) / 2)
    if ((await api(`/runs/${id}/events?cursor=${middle}&limit=1`)).items.length > 0) from = middle + 1
    else upTo = middle
  }
  return from
}

async function made(api, what, body) {
  const run = await ended(api, (await api('/runs', body)).id)
  if (run.status !== 'completed') throw new Error(`${what}: the run is ${run.status}: ${JSON.stringify(run.error)}`)
  return run.id
}

export async function longRuns({api, open, origin}) {
  const rows = []
  for (const [events, most, memory] of [
    [10_000, 1500, null],
    [100_000, 5000, 300],
  ]) {
    const id = await made(api, `run of ${events} events`, {
      document: loop(Math.ceil(events / 9)),
      format: 'steps',
      name: 'loop',
      input: 'Begin',
      limits: {maxSteps: events},
    })
    const last = await lastOf(api, id, 2 * events)
    const page = await open()
    const heaps = []
    const list = await repeat(async () => {
      const took = await opened(page, `${origin}/runs/${id}`, hasEvents, last)
      heaps.push((await heap(page)) / MB)
      return took
    })
    await page.close()
    const name = `run of ${last.toLocaleString('en')} events`
    rows.push(row(`${name}: open`, 'ms', list, most), row(`${name}: heap`, 'MB', heaps, memory))
  }
  return rows
}

export async function items({api, open, origin}) {
  const n = 10_000
  const input = JSON.stringify(Array.from({length: n}, (_, i) => i))
  const id = await made(api, 'map', {document: map, format: 'steps', name: 'map', input})
  const last = await lastOf(api, id, 20 * n)
  const step = (await api(`/runs/${id}/steps?limit=2`)).items[1].seq
  const page = await open()
  await longTasks(page)
  const graph = await repeat(() => opened(page, `${origin}/runs/${id}`, hasEvents, last))
  const isListed = () => document.querySelector('[aria-label=Items] li') && performance.now()
  const list = await repeat(() => opened(page, `${origin}/runs/${id}?tab=steps&step=${step}`, isListed))
  const memory = (await heap(page)) / MB
  await page.close()
  return [
    row(`map of 10,000 items (${last.toLocaleString('en')} events): open`, 'ms', graph, 5000),
    row('map of 10,000 items: open with its items', 'ms', list, 5000),
    row('map of 10,000 items: heap', 'MB', [memory], 300),
  ]
}

export async function value({api, open, origin}) {
  const part = 'What the letters say, line by line.\n'.repeat(27_000).slice(0, 1_000_000)
  const id = await made(api, 'value of 16 MB', {document: times(16), format: 'steps', name: 'large', input: part})
  const page = await open()
  await longTasks(page)
  const worsts = await repeat(async () => {
    await page.goto(`${origin}/runs/${id}?tab=steps&step=1`)
    await settled(page)
    await worst(page) // loading the page has a row of its own
    await page
      .getByRole('button', {name: /^Load all/})
      .last()
      .click()
    await page
      .getByRole('button', {name: /^Show more/})
      .first()
      .waitFor()
    await page
      .getByRole('button', {name: /^Show more/})
      .first()
      .click()
    for (const tab of ['Log', 'Context', 'Events', 'Conversation', 'Graph'])
      await page.getByRole('tab', {name: new RegExp(`^${tab}`)}).click()
    await page.getByLabel('Search in the run').fill('letters')
    await page.getByRole('status').filter({hasText: /\d/}).first().waitFor()
    return worst(page)
  })
  await page.close()
  return [row('value of 16 MB, shown and searched: longest task', 'ms', worsts, 200)]
}

export async function pixel({api, open, origin}) {
  const n = 25
  const {id} = await api('/runs', {document: asking(n), format: 'steps', name: 'gates', input: 'Begin'})
  const page = await open()
  await opened(page, `${origin}/runs/${id}`, hasEvents, 1)
  await page.evaluate(() => {
    window.benchSeen = []
    const look = () => {
      const tab = document.querySelector('[data-tab=events] span')
      const seq = Number(tab?.textContent.replace(/\D/g, ''))
      if (seq !== window.benchSeen.at(-1)?.seq) window.benchSeen.push({seq, at: Date.now()})
      requestAnimationFrame(look)
    }
    requestAnimationFrame(look)
  })
  for (let i = 0; i < n; i++) {
    let wait
    await until(
      'a gate waits',
      async () => (wait = (await api(`/runs/${id}`)).waiting?.find(w => w.node === `gate${i}`)),
    )
    await api(`/runs/${id}/resume`, {wait: wait.id, decision: 'approve'})
  }
  await ended(api, id)
  await seen(page, hasEvents, await lastOf(api, id, 50 * n))
  const shown = await page.evaluate(() => window.benchSeen)
  const {items: events} = await api(`/runs/${id}/events?limit=1000`)
  const begun = shown[0].seq
  const delays = events.filter(e => e.seq > begun).map(e => shown.find(s => s.seq >= e.seq).at - Date.parse(e.time))
  await page.close()
  return [row('event to pixel', 'ms', delays, 250, 'p95')]
}
