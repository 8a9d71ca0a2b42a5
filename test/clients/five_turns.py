"""A conversation of five turns with a tool, by the SDKs of OpenAI for Python. Prints each answer on a line."""

import asyncio
import json
import os
import sys

from agents import (
    Agent,
    OpenAIConversationsSession,
    RunConfig,
    Runner,
    OpenAIProvider,
    function_tool,
    set_tracing_disabled,
)
from openai import AsyncOpenAI, OpenAI

way, model = sys.argv[1:]
questions = json.loads(os.environ["QUESTIONS"])
settings = {"base_url": os.environ["BASE_URL"], "api_key": os.environ["KEY"], "max_retries": 0}

tool = {
    "type": "function",
    "name": "tide_at",
    "parameters": {"type": "object", "properties": {"harbour": {"type": "string"}}, "required": ["harbour"]},
    "strict": False,
}


def hold_by_openai():
    client = OpenAI(**settings)
    previous = None
    for question in questions:
        items = [{"role": "user", "content": question}]
        while items:
            reply = client.responses.create(
                model=model, tools=[tool], input=items, previous_response_id=previous
            )
            previous = reply.id
            items = [
                {
                    "type": "function_call_output",
                    "call_id": item.call_id,
                    "output": "tide of " + json.loads(item.arguments)["harbour"],
                }
                for item in reply.output
                if item.type == "function_call"
            ]
        print(reply.output_text)


@function_tool
def tide_at(harbour: str) -> str:
    """When the tide turns."""
    return "tide of " + harbour


async def hold_by_agents():
    set_tracing_disabled(True)
    client = AsyncOpenAI(**settings)
    config = RunConfig(model_provider=OpenAIProvider(openai_client=client, use_responses=True))
    agent = Agent(name="Harbour master", instructions="Be brief.", model=model, tools=[tide_at])
    session = OpenAIConversationsSession(openai_client=client) if way == "agents session" else None
    conversation = (await client.conversations.create()).id if way == "agents conversation" else None
    previous, history = None, []
    for question in questions:
        if way == "agents history":
            result = await Runner.run(agent, history + [{"role": "user", "content": question}], run_config=config)
            history = result.to_input_list()
        else:
            result = await Runner.run(
                agent,
                question,
                run_config=config,
                session=session,
                conversation_id=conversation,
                previous_response_id=previous if way == "agents previous" else None,
            )
            previous = result.last_response_id
        print(result.final_output)


if way == "openai":
    hold_by_openai()
else:
    asyncio.run(hold_by_agents())
