// This benchmark measures the text editor with a document of 2,000 lines, from a keystroke that
// causes an error until the error is marked.
import {settled} from '../specs/lib.mjs'
import {stepsOf} from './documents.mjs'
import {frames, opened, repeat, seen} from './measure.mjs'
import {row} from './report.mjs'

const lines = 2000

const isMarked = () =>
  document.querySelector('.cm-content :is(.cm-lintRange-error, .cm-lintPoint-error)') && performance.now()
const isClean = () => !document.querySelector('.cm-content :is(.cm-lintRange-error, .cm-lintPoint-error)')

export async function text({api, open, origin}) {
  await api('/workflows', {id: 'letters', document: stepsOf(lines)})
  const page = await open()
  const times = await repeat(() =>
    opened(
      page,
      `${origin}/workflows/letters/edit?pane=text`,
      () => document.querySelector('.cm-content .cm-line') && performance.now(),
    ),
  )
  await settled(page)
  await page.getByText('no problems').waitFor()
  await page.locator('.cm-content').click()
  for (let i = 0; i < 20; i++) await page.keyboard.press('PageDown')
  // The cursor is placed after the kind of a step in the middle; one more letter makes the kind
  // unknown.
  await page
    .locator('.cm-line')
    .filter({hasText: /type: set$/})
    .nth(1)
    .click()
  await page.keyboard.press('End')
  await page.evaluate(() =>
    document.addEventListener(
      'keydown',
      e => (window.benchKey = e.key === 'x' ? performance.now() : window.benchKey),
      true,
    ),
  )
  const marks = await repeat(async () => {
    await page.keyboard.press('x')
    const at = await seen(page, isMarked)
    const pressed = await page.evaluate(() => window.benchKey)
    await page.keyboard.press('Backspace')
    await seen(page, isClean)
    await page.getByText('no problems').waitFor()
    return at - pressed
  })
  const typing = await frames(page, async () => {
    for (let i = 0; i < 20; i++) await page.keyboard.press('y')
    for (let i = 0; i < 20; i++) await page.keyboard.press('Backspace')
  })
  await page.close()
  return [
    row('text of 2,000 lines: open', 'ms', times),
    row('text of 2,000 lines: keystroke to marks', 'ms', marks, 300),
    row('text of 2,000 lines: a frame while one types', 'ms', typing),
  ]
}
