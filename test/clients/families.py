"""One client of the families: it embeds, ranks, judges or completes through the gateway, and finds the text."""

import importlib.util
import os
import sys
import tempfile

url, key = os.environ["URL"], os.environ["KEY"]
way, model = sys.argv[1:]

texts = {
    "lamp.txt": "A lighthouse is a lamp for ships at night",
    "tea.txt": "Green tea is brewed with hot water",
    "bread.txt": "Bread is made of flour and salt",
}
question = "which lamp helps ships at night"
expected = texts["lamp.txt"]


def find(vectors, asked):
    """Returns the text whose vector is closest."""
    score = lambda vector: sum(one * other for one, other in zip(vector, asked))
    return max(zip(texts.values(), vectors), key=lambda pair: score(pair[1]))[0]


def run_openai():
    from openai import OpenAI

    client = OpenAI(base_url=f"{url}/v1", api_key=key, max_retries=0)
    found = set()
    for settings in ({}, {"encoding_format": "float"}):
        made = client.embeddings.create(model=model, input=[*texts.values(), question], **settings)
        *vectors, asked = [item.embedding for item in made.data]
        assert made.usage.total_tokens > 0
        found.add(find(vectors, asked))
    verdicts = client.moderations.create(model="demo/guard", input=["I will kill you", "Tea"]).results
    assert [verdict.flagged for verdict in verdicts] == [True, False]
    whole = client.completions.create(model="demo/echo", prompt="Once", max_tokens=50).choices[0].text
    pieces = client.completions.create(model="demo/echo", prompt="Once", max_tokens=50, stream=True)
    assert "Once" in whole and whole == "".join(piece.choices[0].text for piece in pieces if piece.choices)
    (text,) = found
    return text


def run_tokens():
    from openai import OpenAI

    client = OpenAI(base_url=f"{url}/v1", api_key=key, max_retries=0)
    lists = [[9, 8, 7], [1, 2], [3, 4]]
    made = client.embeddings.create(model=model, input=[*lists, [9, 8]])
    *vectors, asked = [item.embedding for item in made.data]
    return find(vectors, asked)


def run_cohere():
    import cohere

    client = cohere.ClientV2(api_key=key, base_url=url)
    ranked = client.rerank(model=model, query=question, documents=list(texts.values()), top_n=1)
    return list(texts.values())[ranked.results[0].index]


def run_google():
    from google import genai
    from google.genai import types

    client = genai.Client(api_key=key, http_options=types.HttpOptions(base_url=f"{url}/beta"))
    made = client.models.embed_content(model=model, contents=[*texts.values(), question])
    *vectors, asked = [item.values for item in made.embeddings]
    return find(vectors, asked)


def run_voyage():
    import voyageai

    client = voyageai.Client(api_key=key, base_url=f"{url}/v1", max_retries=0)
    vectors = client.embed(list(texts.values()), model=model, input_type="document").embeddings
    asked = client.embed([question], model=model, input_type="query").embeddings[0]
    return find(vectors, asked)


def run_langchain(**settings):
    from langchain_core.documents import Document
    from langchain_core.vectorstores import InMemoryVectorStore
    from langchain_openai import OpenAIEmbeddings

    embeddings = OpenAIEmbeddings(
        model=model,
        base_url=f"{url}/v1",
        api_key=key,
        max_retries=0,
        **(settings or {"check_embedding_ctx_length": False}),
    )
    store = InMemoryVectorStore(embeddings)
    store.add_documents([Document(page_content=text) for text in texts.values()])
    return store.similarity_search(question, k=1)[0].page_content


def run_langchain_tokens():
    # LangChain sends the numbers of tokens by a table that it downloads. LiteLLM's package has it.
    (package,) = importlib.util.find_spec("litellm").submodule_search_locations
    os.environ["TIKTOKEN_CACHE_DIR"] = os.path.join(package, "litellm_core_utils", "tokenizers")
    return run_langchain(check_embedding_ctx_length=True)


def run_langchain_cohere():
    from langchain_cohere import CohereRerank
    from langchain_core.documents import Document

    reranker = CohereRerank(model=model, cohere_api_key=key, base_url=url, top_n=1)
    documents = [Document(page_content=text) for text in texts.values()]
    return reranker.compress_documents(documents, question)[0].page_content


def run_llama_index():
    from llama_index.core import SimpleDirectoryReader, VectorStoreIndex
    from llama_index.embeddings.openai import OpenAIEmbedding

    embed = OpenAIEmbedding(model_name=model, api_base=f"{url}/v1", api_key=key, max_retries=0)
    with tempfile.TemporaryDirectory() as folder:
        for name, text in texts.items():
            with open(os.path.join(folder, name), "w") as file:
                file.write(text)
        documents = SimpleDirectoryReader(folder).load_data()
        index = VectorStoreIndex.from_documents(documents, embed_model=embed)
        return index.as_retriever(similarity_top_k=1).retrieve(question)[0].get_content()


text = globals()[f"run_{way}"]()
assert text == expected, f"it found {text}"
print("well")
