// This script opens a page and prints the value, as JSON, that the page passes to
// window.report(value). Usage: node eventsource.mjs CHROMIUM URL.
import {chromium} from 'playwright-core'

const [executablePath, url] = process.argv.slice(2)
const browser = await chromium.launch({
  executablePath,
  args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
})
try {
  const page = await browser.newPage()
  let report
  const said = new Promise(resolve => { report = resolve })
  await page.exposeFunction('report', report)
  page.on('pageerror', err => console.error(String(err)))
  const asked = []
  page.on('request', r => asked.push(new URL(r.url()).origin))
  await page.goto(url)
  console.log(JSON.stringify({said: await said, origins: [...new Set(asked)]}))
} finally {
  await browser.close()
}
