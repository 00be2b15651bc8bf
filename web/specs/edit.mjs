// This spec tests the text editor: the positions of problems, drafts, conflicts, the text that the
// browser keeps, and the question before leaving.
import {caller, check, settled, signIn, withPages} from './lib.mjs'

const first = '# The letter.\r\nworkflow:\r\n  - {id: letter, type: set, values: {text: "grüße 👩 {{ $input }}"}}\r\n'
const second = first.replace('grüße', 'salut')

const typed = async (page, text) => {
  const area = page.getByRole('textbox', {name: 'Document', exact: true})
  await area.click()
  await page.keyboard.press('Control+End')
  await page.keyboard.insertText(text)
}

const stand = (page, text) => page.getByRole('status').filter({hasText: text}).first().waitFor()

export const spec = (browser, {origin, token}) =>
  withPages(browser, origin, async ({open, allow}) => {
    const api = caller(origin, token)
    const shown = async () => api('/workflows/letter')
    await api('/workflows', {id: 'letter', document: first})
    const page = await open()
    await signIn(page, origin, token)
    const edit = async () => {
      await page.goto(`${origin}/workflows/letter/edit`)
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
  })
