// Workflows are created from text or a sample, run with the input of an earlier run, downloaded
// byte for byte, converted with the losses listed, and deleted.
import {readFileSync} from 'node:fs'
import {caller, check, settled, signIn, until, withPages} from './lib.mjs'

const text =
  '# grüße 👩\r\nworkflow:\r\n  - {id: ok, type: set, values: {text: "{{ $input }}"}}\r\n' +
  '  - {type: end, output: "{{ $steps.ok.output.text }}"}\r\n'

export const spec = (browser, {origin, token}) =>
  withPages(browser, origin, async ({open, allow}) => {
    const api = caller(origin, token)
    const page = await open()
    await signIn(page, origin, token)
    await page.goto(`${origin}/workflows`)
    await settled(page)
    await page.getByRole('button', {name: 'New from text'}).click()
    const dialog = page.getByRole('dialog', {name: 'New workflow'})
    await dialog
      .getByLabel(/^File/)
      .setInputFiles({name: 'greet.yaml', mimeType: 'text/yaml', buffer: Buffer.from(text)})
    await page.waitForFunction(() => document.querySelector('dialog textarea')?.value.includes('grüße'))
    await dialog.getByRole('button', {name: 'Create the draft'}).click()
    await page.getByRole('textbox', {name: 'Document', exact: true}).waitFor()
    check('the document is the file, byte for byte', (await api('/workflows/greet?draft=true')).document === text)
    await page.getByRole('button', {name: 'Publish'}).click()
    await page.getByRole('status').filter({hasText: 'Published v1.'}).waitFor()

    await api('/runs?wait=20s', {workflow: 'greet', input: 'Dear Ada'})
    await page.goto(`${origin}/workflows/greet`)
    await settled(page)
    const before = page.getByLabel('Input of a run before')
    await before.selectOption({index: 1})
    await page.waitForFunction(() => document.querySelector('main textarea')?.value === 'Dear Ada')
    await page.getByRole('button', {name: 'Run', exact: true}).click()
    await page.waitForURL(/\/runs\//)
    await page.getByText('Dear Ada').first().waitFor()

    await page.goto(`${origin}/workflows/greet`)
    await settled(page)
    const loaded = page.waitForEvent('download')
    await page.getByRole('button', {name: 'Download'}).click()
    const file = await loaded
    check('the file is named after the workflow', file.suggestedFilename() === 'greet.yaml', file.suggestedFilename())
    check('the file is the document', readFileSync(await file.path(), 'utf8') === text)

    await page.getByRole('button', {name: 'Convert'}).click()
    const convert = page.getByRole('dialog', {name: 'Convert into another format'})
    await convert.getByLabel('Format').selectOption('canvas')
    await convert.getByRole('button', {name: 'Show what changes'}).click()
    await convert.getByText('The format canvas cannot express').waitFor()
    await convert.getByRole('list', {name: 'What changes'}).getByText('with what it ends the run').waitFor()
    await convert.getByRole('checkbox').check()
    await convert.getByRole('button', {name: 'Show what changes'}).click()
    await convert.getByRole('button', {name: 'Store as a draft'}).click()
    await page.waitForURL(`${origin}/workflows/greet-canvas/edit`)
    check(
      'it is stored as a draft of the other format',
      (await api('/workflows/greet-canvas?draft=true')).format === 'canvas',
    )
    check('the first one stays', (await api('/workflows/greet')).document === text)

    await page.goto(`${origin}/workflows/greet`)
    await settled(page)
    await page.getByRole('button', {name: 'Delete'}).click()
    await page
      .getByRole('dialog', {name: 'Delete the workflow?'})
      .getByRole('button', {name: 'Delete the workflow'})
      .click()
    await page.waitForURL(`${origin}/workflows`)
    check('it is deleted', (await api('/workflows')).items.length === 1)

    // The first text of a workflow may have errors: the server does not store it, the browser keeps
    // it, and it is corrected in the editor.
    allow(/status of (404|422)/)
    const broken =
      '# grüße\nworkflow:\n  - {id: ok, type: sett, values: {text: hello}}\n' +
      '  - {type: end, output: "{{ $steps.ok.output.text }}"}\n'
    await page.goto(`${origin}/workflows`)
    await settled(page)
    await page.getByRole('button', {name: 'New from text'}).click()
    await dialog.getByRole('textbox', {name: /^Document/}).fill(broken)
    await page.keyboard.press('Escape')
    await dialog.waitFor({state: 'detached'})
    await page.getByRole('button', {name: 'New from text'}).click()
    check(
      'what was typed is still there',
      (await dialog.getByRole('textbox', {name: /^Document/}).inputValue()) === broken,
    )
    await dialog.getByRole('button', {name: 'Create the draft'}).click()
    await dialog.getByText('The editor needs the id').waitFor()
    const onward = dialog.getByRole('button', {name: 'Continue in the editor'})
    check('the editor needs an id', await onward.isDisabled())
    await dialog.getByRole('textbox', {name: /^Id/}).fill('first')
    await onward.click()
    await page.waitForURL(`${origin}/workflows/first/edit`)
    const editor = page.getByRole('textbox', {name: 'Document', exact: true})
    await editor.getByText('sett').waitFor()
    await page.getByRole('status').filter({hasText: 'new · not published · changes not stored'}).waitFor()
    await page.getByText('Nothing of this workflow is stored').waitFor()
    await page.locator('.cm-lintRange-error').first().waitFor()
    check(
      'a text with errors is not offered to be stored',
      await page.getByRole('button', {name: 'Save draft'}).isDisabled(),
    )
    check(
      'nothing is stored',
      (await api('/workflows')).items.every(w => w.id !== 'first'),
    )
    await page.getByRole('link', {name: 'Workflows', exact: true}).click()
    await page.getByRole('dialog', {name: 'Leave without storing?'}).getByRole('button', {name: 'Leave'}).click()
    const kept = page.getByRole('region', {name: 'Only in this browser'})
    await kept.getByRole('link', {name: 'first'}).click()
    await editor.getByText('sett').waitFor()
    await editor.click()
    await page.keyboard.press('Control+a')
    await page.keyboard.insertText(broken.replace('sett', 'set'))
    await page.getByRole('status').filter({hasText: 'no problems'}).waitFor()
    await page.keyboard.press('Control+s')
    await page.getByRole('status').filter({hasText: 'Stored as draft v1.'}).waitFor()
    check(
      'the first draft is what was corrected',
      (await api('/workflows/first?draft=true')).document === broken.replace('sett', 'set'),
    )
    await page.getByText('Nothing of this workflow is stored').waitFor({state: 'detached'})
    await page.getByRole('link', {name: 'Versions'}).waitFor()

    // Another client takes the id first: nothing is overwritten, and both texts are shown.
    await page.goto(`${origin}/workflows`)
    await settled(page)
    check('what is stored is kept no more', (await kept.count()) === 0)
    await page.getByRole('button', {name: 'New from text'}).click()
    await dialog.getByRole('textbox', {name: /^Document/}).fill(broken)
    await dialog.getByRole('textbox', {name: /^Id/}).fill('second')
    await dialog.getByRole('button', {name: 'Create the draft'}).click()
    await onward.click()
    await page.waitForURL(`${origin}/workflows/second/edit`)
    await page.getByText('Nothing of this workflow is stored').waitFor()
    await api('/workflows', {id: 'second', document: broken.replace('sett', 'set').replace('hello', 'theirs')})
    await editor.click()
    await page.keyboard.press('Control+a')
    await page.keyboard.insertText(broken.replace('sett', 'set').replace('hello', 'mine'))
    await page.getByRole('status').filter({hasText: 'no problems'}).waitFor()
    allow(/status of 409/)
    await page.keyboard.press('Control+s')
    await page.getByText('theirs').first().waitFor()
    check('nothing is overwritten', (await api('/workflows/second')).versions.length === 1)
    await page.getByRole('link', {name: 'Workflows', exact: true}).click()
    await page.getByRole('dialog', {name: 'Leave without storing?'}).getByRole('button', {name: 'Leave'}).click()
    await kept.getByRole('link', {name: 'second'}).click()
    await page.getByRole('region', {name: 'A text that was not stored'}).waitFor()
    await page.getByRole('button', {name: 'Discard them'}).click()

    // A text that is no longer wanted is discarded.
    await page.goto(`${origin}/workflows`)
    await settled(page)
    await page.getByRole('button', {name: 'New from text'}).click()
    await dialog.getByRole('textbox', {name: /^Document/}).fill(broken)
    await dialog.getByRole('textbox', {name: /^Id/}).fill('third')
    await dialog.getByRole('button', {name: 'Create the draft'}).click()
    await onward.click()
    await page.waitForURL(`${origin}/workflows/third/edit`)
    await page.getByText('Nothing of this workflow is stored').waitFor()
    await page.getByRole('link', {name: 'Workflows', exact: true}).click()
    await page.getByRole('dialog', {name: 'Leave without storing?'}).getByRole('button', {name: 'Leave'}).click()
    await kept.getByRole('button', {name: 'Discard'}).click()
    await page.getByRole('dialog', {name: 'Discard the text?'}).getByRole('button', {name: 'Discard the text'}).click()
    await kept.waitFor({state: 'detached'})
    for (const id of ['first', 'second']) await api(`/workflows/${id}`, undefined, 'DELETE')

    // Lists show labels and can be filtered by them; the filter is in the address.
    await api('/workflows', {id: 'news', document: `labels: {team: news, env: "<b>x</b>"}\n${text}`})
    await api('/workflows', {id: 'sport', document: `labels: {team: sport}\n${text}`})
    await page.goto(`${origin}/workflows`)
    await settled(page)
    const names = () =>
      page.locator('main li a').evaluateAll(all => all.map(a => a.textContent).filter(t => !t.includes('=')))
    await until('all are listed', async () => (await names()).join() === 'greet-canvas,news,sport', names)
    await page.getByRole('link', {name: 'team=news'}).click()
    await until('a label leads to what has it', async () => (await names()).join() === 'news', names)
    check('the filter is in the address', page.url() === `${origin}/workflows?label=team%3Dnews`, page.url())
    await page.getByRole('link', {name: 'env=<b>x</b>'}).waitFor()
    await page.getByRole('textbox', {name: 'Labels'}).fill('team, team!=news')
    await page.keyboard.press('Enter')
    await until('selectors are joined by and', async () => (await names()).join() === 'sport', names)
    await page.getByRole('textbox', {name: 'Labels'}).fill('team=none')
    await page.getByRole('button', {name: 'Filter'}).click()
    await page.getByRole('heading', {name: 'No workflow has such labels'}).waitFor()
    allow(/status of 422/)
    await page.getByRole('textbox', {name: 'Labels'}).fill('a b')
    await page.keyboard.press('Enter')
    await page.getByRole('alert').getByText('label selector "a b"').waitFor()
    await page.getByRole('button', {name: 'All workflows'}).click()
    await until('all are listed again', async () => (await names()).length === 3, names)
  })
