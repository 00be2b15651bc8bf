// This script opens pages and prints what happened on each of them as JSON. Usage: node pages.mjs
// CHROMIUM [FOLDER] <PAGES, with PAGES = [{"name", "url"}]. If FOLDER is given, it stores a
// screenshot of each page at two widths there. A script that ran is detected by the global `canary`
// or by a dialog.
import {readFileSync} from 'node:fs'
import {join} from 'node:path'
import {chromium} from 'playwright-core'

const [executablePath, folder] = process.argv.slice(2)
const pages = JSON.parse(readFileSync(0, 'utf8'))
const widths = {wide: 1280, narrow: 390}

// inspectDocument returns the contents of the document. It runs inside the page.
const inspectDocument = () => {
  const elements = [...document.querySelectorAll('*')]
  const attributes = elements.flatMap(e => [...e.attributes].map(a => e.localName + ' ' + a.name + '=' + a.value))
  const sum = list => [...new Set(list)].sort()
  return {
    canary: window.canary !== undefined,
    elements: sum(elements.map(e => e.localName)),
    attributes: sum(attributes),
    links: [...document.querySelectorAll('link')].map(e => e.href),
    forms: [...document.forms].map(f => new URL(f.getAttribute('action'), location.href).origin + ' ' + f.method),
    text: document.body.innerText,
    inputs: [...document.querySelectorAll('input, textarea')].map(e => e.value),
    at: location.href,
  }
}

// measureLayout reports, once everything that loads, moves or runs by itself has started, whether
// the page is wider than the window and which elements clip their content. It runs inside the page.
const measureLayout = async () => {
  await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))
  const hides = e => {
    const style = getComputedStyle(e)
    // a select is one line; it clips long values
    if (e.localName === 'select' && CSS.supports('appearance: base-select')) return style.overflowX !== 'visible'
    return (
      (style.overflowY !== 'visible' && e.scrollHeight > e.clientHeight + 1) ||
      (style.overflowX !== 'visible' && e.scrollWidth > e.clientWidth + 1)
    )
  }
  const root = document.documentElement
  return {
    wider: root.scrollWidth > root.clientWidth,
    cut: [...document.querySelectorAll('*')]
      .filter(e => e !== root && e.localName !== 'textarea' && e.localName !== 'input' && hides(e))
      .map(e => e.localName),
  }
}

const browser = await chromium.launch({
  executablePath,
  args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
})
const out = []
try {
  const context = await browser.newContext()
  let page, seen
  // openTab opens a tab. One tab shows page after page, which takes less than half the time of a
  // tab per page. Events in the tab are attributed to the page that it shows.
  const openTab = async () => {
    page = await context.newPage()
    page.on('request', r => seen.requests.push(r.url()))
    page.on('dialog', d => { seen.dialogs++; d.dismiss().catch(() => {}) })
    page.on('popup', () => seen.popups++)
  }
  for (const {name, url} of pages) {
    seen = {name, requests: [], dialogs: 0, popups: 0, wider: [], cut: []}
    if (!page) await openTab()
    await page.goto(url, {waitUntil: 'load'})
    // runInPage runs a function in the page. If the page navigates in the meantime, the function
    // runs again on the page it navigated to.
    const runInPage = async f => {
      for (let moves = 0; ; moves++) {
        try {
          return await page.evaluate(f)
        } catch (e) {
          if (moves === 10 || !/because of a navigation|Cannot find context/.test(e.message)) throw e
          await page.waitForLoadState('load')
        }
      }
    }
    for (const [which, width] of Object.entries(widths)) {
      await page.setViewportSize({width, height: 900})
      const {wider, cut} = await runInPage(measureLayout)
      if (wider) seen.wider.push(which)
      seen.cut.push(...cut.map(name => which + ' ' + name))
    }
    Object.assign(seen, await runInPage(inspectDocument))
    for (const [which, width] of folder ? Object.entries(widths) : []) {
      await page.setViewportSize({width, height: 900})
      await page.screenshot({path: join(folder, `${name}-${which}.png`)})
    }
    out.push(seen)
    if (seen.at !== url || seen.popups > 0) { // the page has navigated away, and may do so again
      await page.close()
      page = undefined
    }
  }
  console.log(JSON.stringify(out))
} finally {
  await browser.close()
}
