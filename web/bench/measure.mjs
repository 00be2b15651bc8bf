// This module contains the measuring functions. Times on the page are taken from its own clock,
// which starts with a navigation, so polling from outside adds nothing.
import {performance} from 'node:perf_hooks'

// settings holds the number of times each measurement is repeated.
export const settings = {rounds: 5}

export const sorted = list => [...list].sort((a, b) => a - b)

// quantile returns the smallest value such that the given fraction of all values is not above it.
export const quantile = (list, part) => sorted(list)[Math.max(0, Math.ceil(list.length * part) - 1)]

export const median = list => quantile(list, 0.5)

// repeat takes one measurement several times in sequence and returns the results.
export async function repeat(f) {
  const all = []
  for (let i = 0; i < settings.rounds; i++) all.push(await f(i))
  return all
}

// seen waits until a condition holds on the page, which is checked once per frame, and returns the
// page time at which it held. The predicate returns that time, or a falsy value.
export async function seen(page, is, argument) {
  const at = await page.waitForFunction(is, argument, {polling: 'raf', timeout: 120_000})
  return at.jsonValue()
}

// opened returns the time from the navigation until a condition holds on the page.
export async function opened(page, url, is, argument) {
  await page.goto(url, {waitUntil: 'commit'})
  return seen(page, is, argument)
}

// frames returns the intervals between frames while act runs.
export async function frames(page, act) {
  await page.evaluate(() => {
    window.benchFrames = []
    let last = 0
    const tick = t => {
      if (last > 0) window.benchFrames?.push(t - last)
      last = t
      if (window.benchFrames) requestAnimationFrame(tick)
    }
    requestAnimationFrame(tick)
  })
  await act()
  return page.evaluate(() => {
    const all = window.benchFrames
    window.benchFrames = null
    return all
  })
}

// moves moves the mouse along a circle with the given number of steps. Each step waits until the
// page has processed the movement.
export async function moves(page, {x, y}, radius, steps) {
  for (let i = 0; i <= steps; i++) {
    const at = (2 * Math.PI * i) / steps
    await page.mouse.move(x + radius * Math.sin(at), y + radius * (1 - Math.cos(at)))
  }
}

// longTasks makes the page record the duration of its long tasks; worst returns the longest since
// then.
export const longTasks = page =>
  page.addInitScript(() => {
    window.benchTasks = []
    new PerformanceObserver(list => {
      for (const e of list.getEntries()) window.benchTasks.push(e.duration)
    }).observe({type: 'longtask', buffered: true})
  })

export const worst = page =>
  page.evaluate(async () => {
    await new Promise(done => setTimeout(done, 200)) // long tasks are reported a moment later
    return Math.max(0, ...window.benchTasks.splice(0))
  })

// heap returns the memory that the scripts of a page retain after a garbage collection, in bytes.
export async function heap(page) {
  const cdp = await page.context().newCDPSession(page)
  await cdp.send('Performance.enable')
  await cdp.send('HeapProfiler.collectGarbage')
  const {metrics} = await cdp.send('Performance.getMetrics')
  await cdp.detach()
  return metrics.find(m => m.name === 'JSHeapUsedSize').value
}

// spent returns how long a function takes on the clock of this process, in milliseconds.
export async function spent(f) {
  const begun = performance.now()
  await f()
  return performance.now() - begun
}
