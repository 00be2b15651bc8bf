// Opens pages and prints, as JSON, what became of each: node pages.mjs CHROMIUM [FOLDER] <PAGES, with PAGES = [{"name", "url"}]. With a FOLDER there is a picture of
// each page in two widths. A script that runs is known by the global `canary`, or by a dialog.
import {readFileSync} from 'node:fs'
import {join} from 'node:path'
import {chromium} from 'playwright-core'

const [executablePath, folder] = process.argv.slice(2)
const pages = JSON.parse(readFileSync(0, 'utf8'))
const widths = {wide: 1280, narrow: 390}

// look is what the document holds. It runs inside the page.
const look = () => {
  const elements = [...document.querySelectorAll('*')]
  const attributes = elements.flatMap(e => [...e.attributes].map(a => e.localName + ' ' + a.name))
  const sum = list => [...new Set(list)].sort()
  return {
    canary: window.canary !== undefined,
    elements: sum(elements.map(e => e.localName)),
    attributes: sum(attributes),
    links: [...document.querySelectorAll('link')].map(e => e.href),
    forms: [...document.forms].map(f => new URL(f.getAttribute('action'), location.href).origin + ' ' + f.method),
    text: document.body.innerText,
    cut: elements.filter(e => e.localName !== 'textarea' && e.localName !== 'input' && getComputedStyle(e).overflowY !== 'visible' && e.scrollHeight > e.clientHeight + 1).map(e => e.localName),
    inputs: [...document.querySelectorAll('input, textarea')].map(e => e.value),
    at: location.href,
  }
}

const browser = await chromium.launch({executablePath, args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage']})
const out = []
try {
  const context = await browser.newContext()
  for (const {name, url} of pages) {
    const page = await context.newPage()
    const seen = {name, requests: [], dialogs: 0, popups: 0, wider: []}
    page.on('request', r => seen.requests.push(r.url()))
    page.on('dialog', d => { seen.dialogs++; d.dismiss().catch(() => {}) })
    page.on('popup', () => seen.popups++)
    await page.goto(url, {waitUntil: 'load'})
    // inside runs a function in the page. A page that leaves meanwhile is asked anew where it went.
    const inside = async f => {
      for (let moves = 0; ; moves++) {
        try {
          return await page.evaluate(f)
        } catch (e) {
          if (moves === 10 || !/because of a navigation|Cannot find context/.test(e.message)) throw e
          await page.waitForLoadState('load')
        }
      }
    }
    const frame = () => inside(() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done))))
    for (const [which, width] of Object.entries(widths)) {
      await page.setViewportSize({width, height: 900})
      await frame() // what loads, moves or runs by itself has begun
      if (await inside(() => document.documentElement.scrollWidth > document.documentElement.clientWidth)) seen.wider.push(which)
    }
    Object.assign(seen, await inside(look))
    for (const [which, width] of folder ? Object.entries(widths) : []) {
      await page.setViewportSize({width, height: 900})
      await page.screenshot({path: join(folder, `${name}-${which}.png`)})
    }
    await page.close()
    out.push(seen)
  }
  console.log(JSON.stringify(out))
} finally {
  await browser.close()
}
