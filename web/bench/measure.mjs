// How things are measured. Times of the page are taken by its own clock, which begins with a navigation: what asks it from outside adds nothing.
import {performance} from 'node:perf_hooks'

// settings has how often each is measured.
export const settings = {rounds: 5}

export const sorted = list => [...list].sort((a, b) => a - b)

// quantile gives the smallest value that a part of all are not above.
export const quantile = (list, part) => sorted(list)[Math.max(0, Math.ceil(list.length * part) - 1)]

export const median = list => quantile(list, 0.5)

// repeat measures one thing some times, one after another.
export async function repeat(f) {
  const all = []
  for (let i = 0; i < settings.rounds; i++) all.push(await f(i))
  return all
}

// seen waits until something is so on the page, which is asked once a frame, and gives the time of the page at which it was: what is asked gives that time itself, or nothing.
export async function seen(page, is, argument) {
  const at = await page.waitForFunction(is, argument, {polling: 'raf', timeout: 120_000})
  return at.jsonValue()
}

// opened gives how long a page takes from the navigation until something is so on it.
export async function opened(page, url, is, argument) {
  await page.goto(url, {waitUntil: 'commit'})
  return seen(page, is, argument)
}

// frames gives the times between frames while something is done on the page.
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

// moves leads the mouse along a circle of so many steps. Each step waits until the page has taken it.
export async function moves(page, {x, y}, radius, steps) {
  for (let i = 0; i <= steps; i++) {
    const at = (2 * Math.PI * i) / steps
    await page.mouse.move(x + radius * Math.sin(at), y + radius * (1 - Math.cos(at)))
  }
}

// longTasks makes the page note how long its tasks hold it up; worst gives the longest since.
export const longTasks = page =>
  page.addInitScript(() => {
    window.benchTasks = []
    new PerformanceObserver(list => {
      for (const e of list.getEntries()) window.benchTasks.push(e.duration)
    }).observe({type: 'longtask', buffered: true})
  })

export const worst = page =>
  page.evaluate(async () => {
    await new Promise(done => setTimeout(done, 200)) // tasks are told of a moment later
    return Math.max(0, ...window.benchTasks.splice(0))
  })

// heap gives the memory that the scripts of a page hold after a collection, in bytes.
export async function heap(page) {
  const cdp = await page.context().newCDPSession(page)
  await cdp.send('Performance.enable')
  await cdp.send('HeapProfiler.collectGarbage')
  const {metrics} = await cdp.send('Performance.getMetrics')
  await cdp.detach()
  return metrics.find(m => m.name === 'JSHeapUsedSize').value
}

// spent gives how long a function takes by the clock of this process, in milliseconds.
export async function spent(f) {
  const begun = performance.now()
  await f()
  return performance.now() - begun
}
