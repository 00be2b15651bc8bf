// This spec tests the text editor: the positions of problems, drafts, conflicts, the text that the
// browser keeps, and the question before leaving.
import {caller, check, reach, settled, signIn, until, withPages} from './lib.mjs'

const first = '# The letter.\r\nworkflow:\r\n  - {id: letter, type: set, values: {text: "grüße 👩 {{ $input }}"}}\r\n'
const second = first.replace('grüße', 'salut')

const typed = async (page, text) => {
  const area = page.getByRole('textbox', {name: 'Document', exact: true})
  await area.click()
  await page.keyboard.press('Control+End')
  await page.keyboard.insertText(text)
}

// long is longer than the pane of the text.
const long = `workflow:\n${[...Array(60).keys()].map(n => `  - {id: s${n}, type: set, values: {n: 1}} # ${n}\n`).join('')}`

// checkCaret types at the end of a long document, so that the problems below take room from the text:
// the caret and the completion stay in view.
async function checkCaret(page, edit) {
  await edit('long')
  const area = page.getByRole('textbox', {name: 'Document', exact: true})
  await reach(page, area)
  await page.keyboard.press('Control+End')
  await page.keyboard.type('  - {id: s1, type: sett}\n- {id: s2, type: se') // the editor indents lines
  await page
    .getByRole('region', {name: 'Problems'})
    .getByRole('button', {name: /unknown type "sett"/})
    .waitFor()
  const inView = () =>
    page.evaluate(() => {
      const pane = document.querySelector('.cm-scroller').getBoundingClientRect()
      const caret = document.querySelector('.cm-cursor-primary')?.getBoundingClientRect()
      return caret !== undefined && caret.height > 0 && caret.top >= pane.top && caret.bottom <= pane.bottom
    })
  await until('the caret stays in view', inView)
  await page.keyboard.type('t')
  await page.getByRole('listbox').getByRole('option', {name: /^set/}).waitFor()
  check('the caret is in view with the completion', await inView())
  await page.keyboard.press('Escape')
}

// checkSelection selects a text of each color: it can be read on the background of the selection, in
// both themes, with and without the focus, and beside the selection as well.
async function checkSelection(page) {
  await page.getByRole('textbox', {name: 'Document', exact: true}).click()
  await page.keyboard.press('Control+Home')
  for (let i = 0; i < 4; i++) await page.keyboard.press('Shift+ArrowDown')
  for (const colorScheme of ['dark', 'light']) {
    await page.emulateMedia({colorScheme})
    await page.locator(`html[data-theme=${colorScheme}]`).waitFor()
    for (const focused of [true, false]) {
      if (!focused) await page.evaluate(() => document.activeElement.blur())
      const worst = await page.evaluate(worstContrast)
      const what = `selected text can be read, ${colorScheme}, ${focused ? 'with' : 'without'} the focus`
      check(what, worst.ratio >= 4.5 && worst.colors > 2, JSON.stringify(worst))
    }
    await page.getByRole('textbox', {name: 'Document', exact: true}).focus()
  }
}

// worstContrast returns the lowest contrast of the selected text of the page, and the number of its
// colors.
function worstContrast() {
  const canvas = new OffscreenCanvas(1, 1).getContext('2d', {willReadFrequently: true})
  const paint = (...colors) => {
    for (const color of colors) {
      canvas.fillStyle = color
      canvas.fillRect(0, 0, 1, 1)
    }
    return [...canvas.getImageData(0, 0, 1, 1).data.slice(0, 3)]
  }
  const light = rgb => {
    const [r, g, b] = rgb.map(v => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4))
    return 0.2126 * r + 0.7152 * g + 0.0722 * b
  }
  const ground = e => getComputedStyle(e).backgroundColor
  const drawn = document.querySelector('.cm-selectionBackground')
  let ratio = Number.POSITIVE_INFINITY
  const colors = new Set()
  const all = document.createTreeWalker(document.querySelector('.cm-content'), NodeFilter.SHOW_TEXT)
  for (let n = 0; all.nextNode(); ) {
    const e = all.currentNode.parentElement
    const line = e.closest('.cm-line')
    if (line !== line.parentElement.children[n]) n++
    if (n >= 4) break
    for (const color of [getComputedStyle(e).color, getComputedStyle(e, '::selection').color]) {
      const under = paint(ground(document.querySelector('.cm-editor')), ground(drawn), ground(line), ground(e))
      const [a, b] = [light(paint(...[`rgb(${under})`, color])), light(under)].sort((x, y) => y - x)
      ratio = Math.min(ratio, (a + 0.05) / (b + 0.05))
      colors.add(color)
    }
  }
  return {ratio, colors: colors.size}
}

const stand = (page, text) => page.getByRole('status').filter({hasText: text}).first().waitFor()

export const spec = (browser, {origin, token}) =>
  withPages(browser, origin, async ({open, allow}) => {
    const api = caller(origin, token)
    const shown = async () => api('/workflows/letter')
    await api('/workflows', {id: 'letter', document: first})
    const page = await open()
    await signIn(page, origin, token)
    const edit = async (id = 'letter') => {
      await page.goto(`${origin}/workflows/${id}/edit`)
      await settled(page)
      await page.getByRole('textbox', {name: 'Document', exact: true}).waitFor()
    }

    // Opening and saving without a change creates no version.
    await edit()
    await stand(page, 'no problems')
    await page.keyboard.press('Control+s')
    await stand(page, 'There is no change to store.')
    check('no version is made', (await shown()).versions.length === 1)

    // An error is marked at the position that the command line names, is listed with its line, and
    // prevents the document from being stored.
    await typed(page, '  - {id: ä👩, type: sett}')
    await page.getByRole('region', {name: 'Problems'}).getByText('unknown type "sett"').waitFor()
    const marked = page.locator('.cm-lintRange-error', {hasText: /^sett$/})
    await marked.waitFor()
    check('the mark covers the word', (await marked.innerText()) === 'sett')
    check('a document with errors is not stored', await page.getByRole('button', {name: 'Save draft'}).isDisabled())
    await page
      .getByRole('region', {name: 'Problems'})
      .getByRole('button', {name: /unknown type/})
      .click()
    await page.locator('.cm-content:focus').waitFor() // the text takes the focus in the next frame
    await page.keyboard.insertText('set')
    await page.getByRole('button', {name: 'Undo'}).click()
    await marked.waitFor()
    await page.getByRole('button', {name: 'Undo'}).click()
    await stand(page, 'no problems')

    // A draft is stored with the bytes as typed, and with the line endings of the document.
    await typed(page, '  - {id: sent, type: end, output: sent}\n')
    await page.keyboard.press('Control+s')
    await stand(page, 'Stored as draft v2.')
    const draft = await api('/workflows/letter?draft=true')
    check(
      'the document is what was typed',
      draft.document === `${first}  - {id: sent, type: end, output: sent}\r\n`,
      JSON.stringify(draft.document),
    )

    // Text that is not stored triggers a question before leaving, is kept, and is offered but not
    // applied.
    await typed(page, '# kept\n')
    await page.getByRole('link', {name: 'Runs'}).click()
    const leave = page.getByRole('dialog', {name: 'Leave without storing?'})
    await leave.getByRole('button', {name: 'Stay'}).click()
    await page.getByRole('link', {name: 'Runs'}).click()
    await leave.getByRole('button', {name: 'Leave'}).click()
    await page.waitForURL(`${origin}/runs`)
    await edit()
    const found = page.getByRole('region', {name: 'A text that was not stored'})
    await found.waitFor()
    check('it is not applied', !(await page.locator('.cm-content').innerText()).includes('# kept'))

    // Another client stores first: its version is not overwritten, and both texts are shown.
    await api('/workflows/letter', {document: second, draft: true}, 'PUT')
    await found.getByRole('button', {name: 'Restore them'}).click()
    await page.locator('.cm-content', {hasText: '# kept'}).waitFor()
    allow(/status of 409/)
    await page.keyboard.press('Control+s')
    const both = page.getByRole('region', {name: 'Two versions of the document'})
    await both.waitFor()
    check('the other version is there', (await api('/workflows/letter?draft=true')).document === second)
    await both.getByRole('textbox', {name: 'The stored document'}).getByText('salut').waitFor()
    await both.getByRole('textbox', {name: 'Your document'}).getByText('# kept').waitFor()
    await both.getByRole('button', {name: 'Go on with the right one'}).click()
    await page.keyboard.press('Control+s')
    await stand(page, 'Stored as draft')
    check('the chosen text is stored', (await api('/workflows/letter?draft=true')).document.endsWith('# kept\r\n'))
    await page.getByRole('button', {name: 'Publish'}).click()
    await stand(page, /Published v4\./) // a string would also match the words before it, because it ignores case
    const now = await shown()
    check('it is published', now.published !== 1 && now.document.endsWith('# kept\r\n'), JSON.stringify(now))

    await api('/workflows', {id: 'long', document: long})
    await checkCaret(page, edit)
    await checkSelection(page)
  })
