// Workflows are begun from a text or a sample, run with the input of a run before, downloaded byte for byte, converted with what is lost, and deleted.
import {readFileSync} from 'node:fs'
import {caller, check, settled, signIn, withBrowser} from './lib.mjs'

const text = '# grüße 👩\r\nworkflow:\r\n  - {id: ok, type: set, values: {text: "{{ $input }}"}}\r\n  - {type: end, output: "{{ $steps.ok.output.text }}"}\r\n'

export const spec = (chromium, {origin, token}) =>
  withBrowser(chromium, origin, async ({open}) => {
    const api = caller(origin, token)
    const page = await open()
    await signIn(page, origin, token)
    await page.goto(`${origin}/workflows`)
    await settled(page)
    await page.getByRole('button', {name: 'New from text'}).click()
    const dialog = page.getByRole('dialog', {name: 'New workflow'})
    await dialog.getByLabel(/^File/).setInputFiles({name: 'greet.yaml', mimeType: 'text/yaml', buffer: Buffer.from(text)})
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
    check('it is stored as a draft of the other format', (await api('/workflows/greet-canvas?draft=true')).format === 'canvas')
    check('the first one stays', (await api('/workflows/greet')).document === text)

    await page.goto(`${origin}/workflows/greet`)
    await settled(page)
    await page.getByRole('button', {name: 'Delete'}).click()
    await page.getByRole('dialog', {name: 'Delete the workflow?'}).getByRole('button', {name: 'Delete the workflow'}).click()
    await page.waitForURL(`${origin}/workflows`)
    check('it is deleted', (await api('/workflows')).items.length === 1)
  })
